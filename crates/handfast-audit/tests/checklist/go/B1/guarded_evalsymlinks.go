// expect: B1=yes B3=yes
package main

import (
	"log"
	"net/http"
	"path/filepath"
	"strings"
)

var root string

func init() {
	var err error
	root, err = filepath.EvalSymlinks("/srv/data")
	if err != nil {
		log.Fatal(err)
	}
}

func get(w http.ResponseWriter, r *http.Request) {
	target, err := filepath.EvalSymlinks(filepath.Join(root, r.FormValue("f")))
	if err != nil || !strings.HasPrefix(target, root+string(filepath.Separator)) {
		http.NotFound(w, r)
		return
	}
	http.ServeFile(w, r, target)
}
