// expect: A4=yes
package main

import (
	"net/http"
	"path/filepath"
)

const share = "/srv/share"

func file(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if !filepath.IsLocal(name) {
		http.NotFound(w, r)
		return
	}
	http.ServeFile(w, r, filepath.Join(share, name))
}
