// expect: D4=yes C5=yes
package main

import (
	"net/http"
	"regexp"

	"golang.org/x/sys/unix"
)

var name = regexp.MustCompile(`^[a-z]{1,30}$`)

var boxFd, _ = unix.Open("/srv/box", unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)

func remove(w http.ResponseWriter, r *http.Request) {
	n := r.FormValue("name")
	if !name.MatchString(n) {
		http.Error(w, "bad", 400)
		return
	}
	unix.Unlinkat(boxFd, n, 0)
}
