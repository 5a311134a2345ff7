// expect: A1=finding A2=finding A4=finding B3=finding
package main

import (
	"net/http"
	"path/filepath"
)

const reports = "/srv/reports"

func report(w http.ResponseWriter, r *http.Request) {
	http.ServeFile(w, r, filepath.Join(reports, r.URL.Query().Get("id")))
}
