// expect: B2=yes
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
	info, err := os.Lstat(root)
	if err != nil {
		return nil, errors.New("no store")
	}
	if info.Mode()&os.ModeSymlink != 0 || !info.IsDir() {
		return nil, errors.New("the store must be a real directory")
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, errors.New("no store")
	}
	return &Store{root: real}, nil
}

func (s *Store) Read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(s.root, name))
}
