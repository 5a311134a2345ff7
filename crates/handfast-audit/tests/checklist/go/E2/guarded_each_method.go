// expect: E2=yes
package work

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
)

var name = regexp.MustCompile(`^[a-z]{1,30}$`)

type Workspace struct {
	root string
}

func New(root string) *Workspace {
	return &Workspace{root: root}
}

func (w *Workspace) locate(n string) (string, error) {
	if !name.MatchString(n) {
		return "", errors.New("bad name")
	}
	return filepath.Join(w.root, n), nil
}

func (w *Workspace) Write(n string, data []byte) error {
	path, err := w.locate(n)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

func (w *Workspace) Remove(n string) error {
	path, err := w.locate(n)
	if err != nil {
		return err
	}
	return os.Remove(path)
}
