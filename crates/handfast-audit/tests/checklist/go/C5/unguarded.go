// expect: C5=finding
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
	f, err := os.Create(filepath.Join(box, n))
	if err != nil {
		http.Error(w, "no", 500)
		return
	}
	defer f.Close()
	f.WriteString(r.FormValue("text"))
}
