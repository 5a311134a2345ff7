// expect: D5=yes
package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

const box = "/srv/box"

var name = regexp.MustCompile(`^[a-z]{1,30}$`)

func lockDown(w http.ResponseWriter, r *http.Request) {
	n := r.FormValue("name")
	if !name.MatchString(n) {
		http.Error(w, "bad", 400)
		return
	}
	f, err := os.OpenFile(filepath.Join(box, n), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	f.Chmod(0o600)
}
