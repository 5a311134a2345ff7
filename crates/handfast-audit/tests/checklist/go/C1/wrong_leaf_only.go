// expect: C1=finding
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
	target := filepath.Join(tree, relative)
	info, err := os.Lstat(target)
	if err != nil || info.Mode()&os.ModeSymlink != 0 {
		http.Error(w, "bad", 400)
		return
	}
	data, _ := os.ReadFile(target)
	w.Write(data)
}
