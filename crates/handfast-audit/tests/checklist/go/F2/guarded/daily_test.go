package daily

import (
	"testing"
	"testing/synctest"
)

func TestAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(t.TempDir())
		l.Append("acme", "x")
	})
}
