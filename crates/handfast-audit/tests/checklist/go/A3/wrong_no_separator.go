// expect: A3=finding
package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const repos = "/srv/git"

func archive(w http.ResponseWriter, r *http.Request) {
	name := r.FormValue("repo")
	if strings.ContainsAny(name, "/\\") || name == ".." {
		http.Error(w, "bad", 400)
		return
	}
	os.ReadDir(filepath.Join(repos, name))
	cmd := exec.CommandContext(r.Context(), "tar", "cf", "-", name)
	cmd.Stdout = w
	cmd.Run()
}
