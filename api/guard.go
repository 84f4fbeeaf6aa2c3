package api

import (
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/webguard"
)

// check is the first handler of every request: it turns away what the guard
// refuses, and writes the CORS headers.
func (s *Server) check(c *fiber.Ctx) error {
	// The guard keeps none of these strings, so they need not be copied.
	host, origin := utils.UnsafeString(c.Context().Host()), c.Get(fiber.HeaderOrigin)
	decision := s.guard.Decide(webguard.Request{
		Method: c.Method(), Host: host, Origin: origin, Upgrade: origin != "" && c.Get(fiber.HeaderUpgrade) != "",
	})
	if origin != "" {
		c.Vary(fiber.HeaderOrigin)
	}
	switch decision {
	case webguard.RefuseHost:
		return gateway.Errorf(gateway.KindDenied, "host %q is not served here; add it to frontends.rest.hosts", gateway.Quotable(copyOf(host)))
	case webguard.RefuseOrigin:
		return gateway.Errorf(gateway.KindDenied, "origin %q may not do that; add it to frontends.rest.origins", gateway.Quotable(copyOf(origin)))
	case webguard.ServeCORS, webguard.Preflight:
		c.Set(fiber.HeaderAccessControlAllowOrigin, copyOf(origin))
		c.Set(fiber.HeaderAccessControlExposeHeaders, "Allow, Retry-After")
	case webguard.Serve, webguard.ServeOpaque:
	}
	if decision == webguard.Preflight {
		c.Set(fiber.HeaderAccessControlAllowMethods, "GET, HEAD, PUT, POST")
		c.Set(fiber.HeaderAccessControlAllowHeaders, "Content-Type, Last-Event-ID, X-Request-Id")
		c.Set(fiber.HeaderAccessControlMaxAge, "600")
		return c.SendStatus(fiber.StatusNoContent)
	}
	return c.Next()
}
