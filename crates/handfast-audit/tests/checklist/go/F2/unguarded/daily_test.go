package daily

import "testing"

func TestAppend(t *testing.T) {
	l := New(t.TempDir())
	l.Append("acme", "x")
}
