// expect: C1=finding C2=finding C3=finding
package main

import (
	"net/http"
	"os"
	"path/filepath"
)

const tree = "/srv/tree"

func read(w http.ResponseWriter, r *http.Request) {
	relative := r.FormValue("path")
	if !filepath.IsLocal(relative) {
		http.Error(w, "bad", 400)
		return
	}
	data, _ := os.ReadFile(filepath.Join(tree, relative))
	w.Write(data)
}
