// expect: B3=finding
package main

import (
	"net/http"
	"path/filepath"
	"strings"
)

const site = "/srv/site"

func page(w http.ResponseWriter, r *http.Request) {
	target := filepath.Join(site, filepath.Clean(r.FormValue("p")))
	if !strings.HasPrefix(target, site) {
		http.NotFound(w, r)
		return
	}
	http.ServeFile(w, r, target)
}
