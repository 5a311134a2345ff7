// expect: F2=finding
package daily

import (
	"os"
	"path/filepath"
	"time"
)

type Log struct{ root string }

func New(root string) *Log { return &Log{root: root} }

func (l *Log) Append(tenant, line string) error {
	day := time.Now().Format("2006-01-02")
	return os.WriteFile(filepath.Join(l.root, tenant, day), []byte(line), 0o600)
}
