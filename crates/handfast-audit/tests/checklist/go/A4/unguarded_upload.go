// expect: A4=finding B3=finding
package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
)

const uploads = "/srv/uploads"

func upload(w http.ResponseWriter, r *http.Request) {
	file, header, err := r.FormFile("file")
	if err != nil {
		return
	}
	out, err := os.Create(filepath.Join(uploads, header.Filename))
	if err != nil {
		return
	}
	defer out.Close()
	io.Copy(out, file)
}
