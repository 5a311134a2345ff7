package reader

import (
	"os"
	"testing"
)

func TestReadRefusesDotDot(t *testing.T) {
	r, _ := Open(t.TempDir())
	if _, err := r.Read("../etc"); err == nil {
		t.Fatal("read")
	}
}

func TestOpenRefusesRootLink(t *testing.T) {
	dir := t.TempDir()
	os.Symlink(dir, dir+"/RootLink")
	if _, err := Open(dir + "/RootLink"); err == nil {
		t.Fatal("opened")
	}
}

func TestReadRefusesSymlink(t *testing.T) {
	dir := t.TempDir()
	os.Symlink("/etc/hostname", dir+"/link")
	r, _ := Open(dir)
	if _, err := r.Read("link"); err == nil {
		t.Fatal("read")
	}
}

func TestReadRefusesDanglingSymlink(t *testing.T) {
	dir := t.TempDir()
	os.Symlink("nowhere", dir+"/dangling")
	r, _ := Open(dir)
	if _, err := r.Read("dangling"); err == nil {
		t.Fatal("read")
	}
}

func TestReadRefusesFileInTheWay(t *testing.T) {
	r, _ := Open(t.TempDir())
	if _, err := r.Read("a/b"); err == nil {
		t.Fatal("read")
	}
}
