// expect: E1=finding
package main

import (
	"errors"
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

func Save(n string) error {
	mu.Lock()
	if !name.MatchString(n) {
		return errors.New("bad name")
	}
	err := os.WriteFile(filepath.Join(box, n), []byte("x"), 0o600)
	mu.Unlock()
	return err
}
