// expect: A1=yes A2=yes A4=yes
package main

import (
	"net/http"
	"path/filepath"
	"regexp"
)

const reports = "/srv/reports"

var reportID = regexp.MustCompile(`^[a-z0-9]{1,32}$`)

func report(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	if !reportID.MatchString(id) {
		http.NotFound(w, r)
		return
	}
	http.ServeFile(w, r, filepath.Join(reports, id+".pdf"))
}
