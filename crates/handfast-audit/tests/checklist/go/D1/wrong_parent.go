// expect: D1=finding
package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
)

const jobs = "/srv/jobs"

func ensureParent(path string) error {
	return os.MkdirAll(filepath.Dir(path), 0o755)
}

func upload(w http.ResponseWriter, r *http.Request) {
	file, header, err := r.FormFile("file")
	if err != nil {
		return
	}
	target := filepath.Join(jobs, r.FormValue("tenant"), header.Filename)
	if err := ensureParent(target); err != nil {
		return
	}
	out, err := os.Create(target)
	if err != nil {
		return
	}
	defer out.Close()
	io.Copy(out, file)
}
