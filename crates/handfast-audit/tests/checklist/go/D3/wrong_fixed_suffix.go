// expect: D3=finding
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
	os.WriteFile(target+".tmp", []byte(r.FormValue("text")), 0o600)
	os.Rename(target+".tmp", target)
}
