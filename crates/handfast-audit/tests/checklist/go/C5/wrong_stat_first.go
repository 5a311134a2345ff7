// expect: C5=finding
package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
)

const box = "/srv/box"

var name = regexp.MustCompile(`^[a-z]{1,30}$`)

func create(w http.ResponseWriter, r *http.Request) {
	n := r.FormValue("name")
	if !name.MatchString(n) {
		http.Error(w, "bad", 400)
		return
	}
	target := filepath.Join(box, n)
	if _, err := os.Stat(target); err == nil {
		http.Error(w, "exists", 409)
		return
	}
	os.WriteFile(target, []byte(r.FormValue("text")), 0o600)
}
