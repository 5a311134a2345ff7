package store

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSave(t *testing.T) {
	dir := filepath.Join(os.TempDir(), "store-test")
	os.MkdirAll(dir, 0o755)
	s := New(dir)
	if err := s.Save("a", []byte("x")); err != nil {
		t.Fatal(err)
	}
}
