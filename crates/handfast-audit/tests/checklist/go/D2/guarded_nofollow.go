// expect: D2=yes
package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

const box = "/srv/box"

var name = regexp.MustCompile(`^[a-z]{1,30}$`)

func openPlain(n string) (*os.File, error) {
	return os.OpenFile(filepath.Join(box, n), os.O_RDONLY|unix.O_NOFOLLOW, 0)
}

func read(w http.ResponseWriter, r *http.Request) {
	n := r.FormValue("name")
	if !name.MatchString(n) {
		http.Error(w, "bad", 400)
		return
	}
	f, err := openPlain(n)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	io.Copy(w, f)
}
