// expect: B2=finding
package store

import (
	"errors"
	"os"
	"path/filepath"
)

type Store struct {
	root string
}

func NewStore(root string) (*Store, error) {
	info, err := os.Stat(root)
	if err != nil || !info.IsDir() {
		return nil, errors.New("no store")
	}
	return &Store{root: root}, nil
}

func (s *Store) Read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(s.root, name))
}
