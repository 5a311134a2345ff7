// expect: A4=finding B3=finding
package main

import (
	"io"
	"net/http"
	"os"
)

func logs(w http.ResponseWriter, r *http.Request) {
	f, err := os.Open("/var/log/app/" + r.URL.Query().Get("day") + ".log")
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	io.Copy(w, f)
}
