// expect: F3=finding
package reader

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
)

var name = regexp.MustCompile(`^[a-z]{1,20}$`)

type Reader struct{ root string }

func New(root string) *Reader { return &Reader{root: root} }

func (r *Reader) Read(n string) ([]byte, error) {
	if !name.MatchString(n) {
		return nil, errors.New("name")
	}
	return os.ReadFile(filepath.Join(r.root, n))
}
