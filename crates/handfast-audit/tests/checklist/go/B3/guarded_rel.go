// expect: B3=yes A4=yes
package main

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
)

var site = mustResolve("/srv/site")

func mustResolve(dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		panic(err)
	}
	return real
}

func locate(name string) (string, error) {
	target, err := filepath.EvalSymlinks(filepath.Join(site, name))
	if err != nil {
		return "", errors.New("no such page")
	}
	rel, err := filepath.Rel(site, target)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", errors.New("outside")
	}
	return target, nil
}

func page(w http.ResponseWriter, r *http.Request) {
	target, err := locate(r.FormValue("p"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	http.ServeFile(w, r, target)
}
