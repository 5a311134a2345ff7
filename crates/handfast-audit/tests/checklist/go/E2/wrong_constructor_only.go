// expect: E2=finding
package work

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

type TenantDir struct {
	dir string
}

func NewTenantDir(root, tenant string) (*TenantDir, error) {
	if tenant == "" || tenant == "." || tenant == ".." || strings.Contains(tenant, "/") {
		return nil, errors.New("tenant")
	}
	dir := filepath.Join(root, tenant)
	info, err := os.Lstat(dir)
	if err != nil || info.Mode()&os.ModeSymlink != 0 {
		return nil, errors.New("tenant")
	}
	return &TenantDir{dir: dir}, nil
}

func (t *TenantDir) Reset() error {
	return os.Remove(t.dir)
}
