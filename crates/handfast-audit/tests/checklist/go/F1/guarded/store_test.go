package store

import "testing"

func TestSave(t *testing.T) {
	s := New(t.TempDir())
	if err := s.Save("a", []byte("x")); err != nil {
		t.Fatal(err)
	}
}
