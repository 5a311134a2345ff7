// expect: D5=finding
package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
)

const box = "/srv/box"

var name = regexp.MustCompile(`^[a-z]{1,30}$`)

func lockDown(w http.ResponseWriter, r *http.Request) {
	n := r.FormValue("name")
	if !name.MatchString(n) {
		http.Error(w, "bad", 400)
		return
	}
	target := filepath.Join(box, n)
	f, err := os.OpenFile(target, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	os.Chmod(target, 0o600)
}
