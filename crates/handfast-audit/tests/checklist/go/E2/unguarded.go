// expect: E2=finding
package work

import (
	"os"
	"path/filepath"
)

type Workspace struct {
	root string
}

func New(root string) *Workspace {
	return &Workspace{root: root}
}

func (w *Workspace) Write(n string, data []byte) error {
	return os.WriteFile(filepath.Join(w.root, n), data, 0o600)
}
