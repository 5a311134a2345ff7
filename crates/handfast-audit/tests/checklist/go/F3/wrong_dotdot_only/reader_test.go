package reader

import "testing"

func TestReadRefusesDotDot(t *testing.T) {
	r := New(t.TempDir())
	if _, err := r.Read("../etc"); err == nil {
		t.Fatal("read")
	}
}
