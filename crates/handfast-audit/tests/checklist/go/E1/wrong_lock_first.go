// expect: E1=finding
package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

const box = "/srv/box"

var (
	name = regexp.MustCompile(`^[a-z]{1,30}$`)
	mu   sync.Mutex
)

func save(w http.ResponseWriter, r *http.Request) {
	n := r.FormValue("name")
	mu.Lock()
	defer mu.Unlock()
	if !name.MatchString(n) {
		http.Error(w, "bad", 400)
		return
	}
	os.WriteFile(filepath.Join(box, n), []byte("x"), 0o600)
}
