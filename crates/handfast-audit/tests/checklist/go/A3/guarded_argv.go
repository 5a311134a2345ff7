// expect: A3=yes
package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

const repos = "/srv/git"

var repoName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,40}$`)

func gc(w http.ResponseWriter, r *http.Request) {
	name := r.FormValue("repo")
	if !repoName.MatchString(name) {
		http.Error(w, "bad", 400)
		return
	}
	os.ReadDir(filepath.Join(repos, name))
	cmd := exec.Command("git", "gc", "--", name)
	cmd.Dir = repos
	cmd.Run()
}
