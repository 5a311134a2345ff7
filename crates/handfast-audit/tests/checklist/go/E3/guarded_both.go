// expect: E3=yes
package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
)

const clones = "/srv/clones"

var name = regexp.MustCompile(`^[a-z]{1,30}$`)

func sync(w http.ResponseWriter, r *http.Request) {
	n := r.FormValue("repo")
	if !name.MatchString(n) {
		http.Error(w, "bad", 400)
		return
	}
	dir := filepath.Join(clones, n)
	if r.FormValue("mode") == "fresh" {
		os.Mkdir(dir, 0o700)
	} else {
		os.Chmod(dir, 0o700)
	}
}
