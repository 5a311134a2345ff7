// expect: D5=finding
package main

import (
	"io"
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
	f, err := os.Open(target)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := os.Stat(target)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	io.Copy(w, f)
}
