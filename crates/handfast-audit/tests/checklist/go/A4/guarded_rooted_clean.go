// expect: A4=yes
package main

import (
	"net/http"
	"os"
	"path"
	"path/filepath"
)

const public = "/srv/public"

func static(w http.ResponseWriter, r *http.Request) {
	clean := path.Clean("/" + r.URL.Path)
	data, err := os.ReadFile(filepath.Join(public, clean))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Write(data)
}
