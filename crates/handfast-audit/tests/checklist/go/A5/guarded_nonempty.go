// expect: A5=yes
package main

import (
	"net/http"
	"path/filepath"
)

const jobs = "/srv/jobs"

func job(w http.ResponseWriter, r *http.Request) {
	name := r.FormValue("name")
	if name == "" || !filepath.IsLocal(name) {
		http.Error(w, "bad", 400)
		return
	}
	http.ServeFile(w, r, filepath.Join(jobs, name))
}
