// expect: A1=finding A4=yes
package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

const docs = "/srv/docs"

func doc(w http.ResponseWriter, r *http.Request) {
	name := r.FormValue("name")
	if strings.Contains(name, "..") {
		http.Error(w, "no", 400)
		return
	}
	f, err := os.Open(filepath.Join(docs, name))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
}
