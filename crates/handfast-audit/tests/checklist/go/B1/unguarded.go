// expect: B1=finding
package main

import (
	"net/http"
	"path/filepath"
)

var root = "/srv/data"

func get(w http.ResponseWriter, r *http.Request) {
	http.ServeFile(w, r, filepath.Join(root, r.FormValue("f")))
}
