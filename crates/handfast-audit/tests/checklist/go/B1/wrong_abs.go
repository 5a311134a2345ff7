// expect: B1=finding
package main

import (
	"net/http"
	"path/filepath"
	"strings"
)

var root, _ = filepath.Abs("data")

func get(w http.ResponseWriter, r *http.Request) {
	target := filepath.Join(root, r.FormValue("f"))
	if !strings.HasPrefix(target, root+"/") {
		http.NotFound(w, r)
		return
	}
	http.ServeFile(w, r, target)
}
