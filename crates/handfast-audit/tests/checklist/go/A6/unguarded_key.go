// expect: A6=finding
package main

import (
	"crypto/sha256"
	"net/http"
	"path/filepath"
)

const previews = "/srv/previews"

var seen = map[[32]byte]bool{}

func preview(w http.ResponseWriter, r *http.Request) {
	name := r.FormValue("name")
	seen[sha256.Sum256([]byte(name))] = true
	http.ServeFile(w, r, filepath.Join(previews, name))
}
