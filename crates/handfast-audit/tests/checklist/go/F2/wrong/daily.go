// expect: F2=finding
package daily

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

type Log struct{ root string }

func New(root string) *Log { return &Log{root: root} }

func (l *Log) Append(tenant, line string) error {
	name := fmt.Sprintf("%s-%d.log", tenant, time.Now().Unix())
	return os.WriteFile(filepath.Join(l.root, name), []byte(line), 0o600)
}
