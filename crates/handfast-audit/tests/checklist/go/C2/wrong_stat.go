// expect: C2=finding
package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
)

const box = "/srv/box"

var name = regexp.MustCompile(`^[a-z]{1,30}$`)

func read(w http.ResponseWriter, r *http.Request) {
	n := r.FormValue("name")
	if !name.MatchString(n) {
		http.Error(w, "bad", 400)
		return
	}
	target := filepath.Join(box, n)
	info, err := os.Stat(target)
	if err != nil || info.Mode()&os.ModeSymlink != 0 {
		http.Error(w, "bad", 400)
		return
	}
	data, _ := os.ReadFile(target)
	w.Write(data)
}
