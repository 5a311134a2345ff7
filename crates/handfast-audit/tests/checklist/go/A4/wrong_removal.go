// expect: A4=finding
package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

const images = "/srv/images"

func image(w http.ResponseWriter, r *http.Request) {
	name := strings.ReplaceAll(r.FormValue("name"), "../", "")
	data, _ := os.ReadFile(filepath.Join(images, name))
	w.Write(data)
}
