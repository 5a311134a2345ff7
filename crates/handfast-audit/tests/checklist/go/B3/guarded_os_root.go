// expect: B3=yes A4=yes C1=yes
package main

import (
	"io"
	"log"
	"net/http"
	"os"
)

type server struct {
	site *os.Root
}

func (s *server) page(w http.ResponseWriter, r *http.Request) {
	f, err := s.site.Open(r.FormValue("p"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	io.Copy(w, f)
}

func main() {
	site, err := os.OpenRoot("/srv/site")
	if err != nil {
		log.Fatal(err)
	}
	s := &server{site: site}
	http.HandleFunc("/page", s.page)
	log.Fatal(http.ListenAndServe(":8080", nil))
}
