// expect: A1=yes A2=finding
package main

import (
	"net/http"
	"path/filepath"
	"regexp"
)

const tiles = "/var/cache/tiles"

var layerName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

func tile(w http.ResponseWriter, r *http.Request) {
	layer := r.PathValue("layer")
	if !layerName.MatchString(layer) {
		http.Error(w, "bad layer", http.StatusBadRequest)
		return
	}
	http.ServeFile(w, r, filepath.Join(tiles, layer))
}
