// expect: A5=finding
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

const jobs = "/srv/jobs"

func drop(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	json.NewDecoder(r.Body).Decode(&body)
	name := fmt.Sprint(body["name"])
	os.RemoveAll(filepath.Join(jobs, name))
}
