// expect: C1=yes C2=yes
package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

const tree = "/srv/tree"

func walk(relative string) (string, error) {
	here := tree
	for _, part := range strings.Split(relative, "/") {
		if part == "" || part == "." || part == ".." {
			return "", errors.New("bad segment")
		}
		here = filepath.Join(here, part)
		info, err := os.Lstat(here)
		if err != nil {
			return "", errors.New("no such file")
		}
		if info.Mode()&os.ModeSymlink != 0 {
			return "", errors.New("link")
		}
	}
	return here, nil
}

func read(w http.ResponseWriter, r *http.Request) {
	target, err := walk(r.FormValue("path"))
	if err != nil {
		http.Error(w, "bad", 400)
		return
	}
	data, _ := os.ReadFile(target)
	w.Write(data)
}
