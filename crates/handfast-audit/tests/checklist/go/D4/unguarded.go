// expect: D4=finding A4=finding
package main

import (
	"net/http"
	"os"
	"path/filepath"
)

const box = "/srv/box"

func remove(w http.ResponseWriter, r *http.Request) {
	os.Remove(filepath.Join(box, r.FormValue("name")))
}
