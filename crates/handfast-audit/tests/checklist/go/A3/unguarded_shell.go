// expect: A3=finding
package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
)

const repos = "/srv/git"

func gc(w http.ResponseWriter, r *http.Request) {
	name := r.FormValue("repo")
	os.ReadDir(filepath.Join(repos, name))
	exec.Command("sh", "-c", "git -C "+repos+"/"+name+" gc").Run()
}
