// expect: F2=yes
package daily

import (
	"os"
	"path/filepath"
	"time"
)

type Log struct {
	root string
	now  func() time.Time
}

func New(root string) *Log { return &Log{root: root, now: time.Now} }

func (l *Log) Append(tenant, line string) error {
	day := time.Now().Format("2006-01-02")
	f, err := os.OpenFile(filepath.Join(l.root, tenant, day), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line)
	return err
}
