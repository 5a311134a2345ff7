// expect: C3=finding
package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

const box = "/srv/box"

var name = regexp.MustCompile(`^[a-z]{1,30}$`)

func read(w http.ResponseWriter, r *http.Request) {
	n := r.FormValue("name")
	if !name.MatchString(n) {
		http.Error(w, "bad", 400)
		return
	}
	f, err := os.OpenFile(filepath.Join(box, n), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	io.Copy(w, f)
}
