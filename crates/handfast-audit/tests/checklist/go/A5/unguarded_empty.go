// expect: A5=finding
package main

import (
	"net/http"
	"os"
	"path/filepath"
)

const jobs = "/srv/jobs"

func drop(w http.ResponseWriter, r *http.Request) {
	os.RemoveAll(filepath.Join(jobs, r.FormValue("name")))
}
