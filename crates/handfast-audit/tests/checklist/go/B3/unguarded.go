// expect: B3=finding
package main

import (
	"net/http"
	"os"
	"path/filepath"
)

const site = "/srv/site"

func page(w http.ResponseWriter, r *http.Request) {
	data, _ := os.ReadFile(filepath.Join(site, r.FormValue("p")))
	w.Write(data)
}
