// expect: A6=finding A1=yes
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
	key := sha256.Sum256([]byte(name))
	if seen[key] {
		return
	}
	if !previewName.MatchString(name) {
		http.Error(w, "bad", 400)
		return
	}
	http.ServeFile(w, r, filepath.Join(previews, name))
}
