// expect: C4=finding
package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
)

const box = "/srv/box"

var (
	name           = regexp.MustCompile(`^[a-z]{1,30}$`)
	errInvalidPath = errors.New("invalid path")
)

func check(n string) (string, error) {
	if !name.MatchString(n) {
		return "", errInvalidPath
	}
	target := filepath.Join(box, n)
	info, err := os.Lstat(target)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errInvalidPath
	}
	return target, nil
}

func save(w http.ResponseWriter, r *http.Request) {
	target, err := check(r.FormValue("name"))
	if err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	os.WriteFile(target, []byte("x"), 0o600)
}
