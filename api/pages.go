package api

import (
	"embed"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/swaggest/swgui/v5emb"
)

//go:embed static
var static embed.FS

// pageOf answers with an embedded file.
func pageOf(name, contentType string) fiber.Handler {
	data, err := static.ReadFile("static/" + name)
	return func(c *fiber.Ctx) error {
		if err != nil {
			return err
		}
		c.Set(fiber.HeaderContentType, contentType)
		c.Set(fiber.HeaderCacheControl, "no-cache")
		return c.Send(data)
	}
}

// pages serves what a person opens: the index, and the description of the
// interface with a form to try each request. Everything is in the binary and
// works without a network.
func (s *Server) pages() {
	s.app.Get("/", page, pageOf("index.html", fiber.MIMETextHTMLCharsetUTF8))
	s.app.Get("/index.js", pageOf("index.js", "text/javascript; charset=utf-8"))
	s.app.Get("/index.css", pageOf("index.css", "text/css; charset=utf-8"))
	docs := adaptor.HTTPHandler(v5emb.New("polygate", "/api/v1/openapi.json", "/docs/"))
	s.app.Get("/docs", func(c *fiber.Ctx) error { return c.Redirect("/docs/", fiber.StatusMovedPermanently) })
	s.app.Get("/docs/*", func(c *fiber.Ctx) error {
		if err := docs(c); err != nil || c.Response().StatusCode() != fiber.StatusNotFound {
			return err
		}
		return fiber.ErrNotFound
	})
}

// page forbids everything that a page does not need: foreign scripts, frames.
func page(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentSecurityPolicy, strings.Join([]string{
		"default-src 'self'", "img-src 'self' data:", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'",
	}, "; "))
	return c.Next()
}
