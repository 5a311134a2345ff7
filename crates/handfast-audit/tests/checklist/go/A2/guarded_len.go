// expect: A1=yes A2=yes
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
	if len(layer) > 40 || !layerName.MatchString(layer) {
		http.Error(w, "bad layer", http.StatusBadRequest)
		return
	}
	http.ServeFile(w, r, filepath.Join(tiles, layer))
}
