// expect: C5=yes D2=yes
package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
)

const box = "/srv/box"

var name = regexp.MustCompile(`^[a-z]{1,30}$`)

func create(w http.ResponseWriter, r *http.Request) {
	n := r.FormValue("name")
	if !name.MatchString(n) {
		http.Error(w, "bad", 400)
		return
	}
	f, err := os.OpenFile(filepath.Join(box, n), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		http.Error(w, "exists", 409)
		return
	}
	defer f.Close()
	f.WriteString(r.FormValue("text"))
}
