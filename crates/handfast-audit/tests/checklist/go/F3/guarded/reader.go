// expect: F3=yes B3=yes A4=yes
package reader

import (
	"errors"
	"os"
	"regexp"

	"golang.org/x/sys/unix"
)

var name = regexp.MustCompile(`^[a-z]{1,20}$`)

type Reader struct{ root int }

func Open(path string) (*Reader, error) {
	fd, err := unix.Open(path, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, errors.New("root")
	}
	return &Reader{root: fd}, nil
}

func (r *Reader) Read(n string) (*os.File, error) {
	if !name.MatchString(n) {
		return nil, errors.New("name")
	}
	fd, err := unix.Openat(r.root, n, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, errors.New("cannot be opened")
	}
	return os.NewFile(uintptr(fd), n), nil
}
