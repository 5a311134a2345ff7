package daily

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAppend(t *testing.T) {
	dir := t.TempDir()
	New(dir).Append("acme", "x")
	name := fmt.Sprintf("acme-%d.log", time.Now().Unix())
	if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}
