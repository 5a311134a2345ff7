// expect: A1=finding A4=finding
package main

import (
	"os"
	"path/filepath"
	"regexp"

	"github.com/gin-gonic/gin"
)

const notes = "/srv/notes"

var noteID = regexp.MustCompile(`[a-z]+`)

func readNote(c *gin.Context) {
	id := c.Param("id")
	if !noteID.MatchString(id) {
		c.AbortWithStatus(400)
		return
	}
	data, err := os.ReadFile(filepath.Join(notes, id))
	if err != nil {
		c.AbortWithStatus(404)
		return
	}
	c.Data(200, "text/plain", data)
}
