package store

import (
	"os"
	"testing"
)

func TestSave(t *testing.T) {
	os.MkdirAll("/tmp/store-test", 0o755)
	s := New("/tmp/store-test")
	if err := s.Save("a", []byte("x")); err != nil {
		t.Fatal(err)
	}
}
