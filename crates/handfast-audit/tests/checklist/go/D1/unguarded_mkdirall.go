// expect: D1=finding
package main

import (
	"net/http"
	"os"
	"path/filepath"
)

const jobs = "/srv/jobs"

func job(w http.ResponseWriter, r *http.Request) {
	os.MkdirAll(filepath.Join(jobs, r.FormValue("name")), 0o755)
}
