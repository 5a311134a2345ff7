// expect: B3=yes C1=yes
package main

import (
	"net/http"
	"os"
)

type Server struct {
	root *os.Root
}

func (s *Server) Get(w http.ResponseWriter, r *http.Request) {
	file, err := s.root.Open(r.URL.Query().Get("name"))
	if err != nil {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	defer file.Close()
}
