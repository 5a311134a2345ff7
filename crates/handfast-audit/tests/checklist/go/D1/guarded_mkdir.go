// expect: D1=yes
package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
)

const jobs = "/srv/jobs"

var name = regexp.MustCompile(`^[a-z0-9]{1,32}$`)

func job(w http.ResponseWriter, r *http.Request) {
	n := r.FormValue("name")
	if !name.MatchString(n) {
		http.Error(w, "bad", 400)
		return
	}
	dir := filepath.Join(jobs, n)
	if err := os.Mkdir(dir, 0o700); err != nil {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() {
			http.Error(w, "taken", 409)
			return
		}
	}
}
