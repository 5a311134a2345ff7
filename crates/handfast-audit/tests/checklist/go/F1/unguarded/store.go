// expect: F1=finding
package store

import (
	"os"
	"path/filepath"
)

type Store struct{ root string }

func New(root string) *Store { return &Store{root: root} }

func (s *Store) Save(name string, data []byte) error {
	return os.WriteFile(filepath.Join(s.root, name), data, 0o600)
}
