// expect: A4=finding B3=finding
package main

import (
	"net/http"
	"os"
	"path/filepath"

	"github.com/gorilla/mux"
)

const images = "/srv/images"

func image(w http.ResponseWriter, r *http.Request) {
	name := filepath.Clean(mux.Vars(r)["name"])
	data, err := os.ReadFile(filepath.Join(images, name))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Write(data)
}
