// expect: A6=yes
package main

import (
	"crypto/sha256"
	"net/http"
	"path/filepath"
	"regexp"
)

const previews = "/srv/previews"

var previewName = regexp.MustCompile(`^[a-z0-9]{1,40}$`)
var seen = map[[32]byte]bool{}

func preview(w http.ResponseWriter, r *http.Request) {
	name := r.FormValue("name")
	if !previewName.MatchString(name) {
		http.Error(w, "bad", 400)
		return
	}
	seen[sha256.Sum256([]byte(name))] = true
	http.ServeFile(w, r, filepath.Join(previews, name))
}
