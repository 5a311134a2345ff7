// expect: D4=finding
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

func remove(w http.ResponseWriter, r *http.Request) {
	n := r.FormValue("name")
	if !name.MatchString(n) {
		http.Error(w, "bad", 400)
		return
	}
	target := filepath.Join(box, n)
	info, err := os.Lstat(target)
	if err != nil || info.Mode()&os.ModeSymlink != 0 {
		http.Error(w, "bad", 400)
		return
	}
	mu.Lock()
	defer mu.Unlock()
	os.RemoveAll(target)
}
