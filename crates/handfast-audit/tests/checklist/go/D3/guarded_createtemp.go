// expect: D3=yes
package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
)

const box = "/srv/box"

var name = regexp.MustCompile(`^[a-z]{1,30}$`)

func save(w http.ResponseWriter, r *http.Request) {
	n := r.FormValue("name")
	if !name.MatchString(n) {
		http.Error(w, "bad", 400)
		return
	}
	target := filepath.Join(box, n)
	tmp, err := os.CreateTemp(filepath.Dir(target), ".save-*")
	if err != nil {
		http.Error(w, "no", 500)
		return
	}
	tmp.WriteString(r.FormValue("text"))
	tmp.Close()
	os.Rename(tmp.Name(), target)
}
