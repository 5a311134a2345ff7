// expect: A1=yes A4=yes
package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"

	"github.com/labstack/echo/v4"
)

const media = "/srv/media"

var errSlug = errors.New("bad slug")

func checkSlug(slug string) error {
	if slug == "" || len(slug) > 64 {
		return errSlug
	}
	for _, c := range slug {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return errSlug
		}
	}
	return nil
}

func avatar(c echo.Context) error {
	slug := c.Param("slug")
	if err := checkSlug(slug); err != nil {
		return echo.NewHTTPError(http.StatusBadRequest)
	}
	f, err := os.Open(filepath.Join(media, slug))
	if err != nil {
		return echo.NewHTTPError(http.StatusNotFound)
	}
	defer f.Close()
	return c.Stream(200, "image/png", f)
}
