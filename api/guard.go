package api

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"github.com/polygate/gateway"
)

// guard keeps web pages of other origins from using the interface through the
// browser of somebody who can reach it. The same list decides about CORS,
// about puts, and about the upgrade to a WebSocket.
type guard struct {
	origins  []string
	hosts    []string
	loopback *atomic.Bool // listening on this host only
}

func newGuard(cfg Config) guard {
	hosts := make([]string, len(cfg.Hosts))
	for i, host := range cfg.Hosts {
		hosts[i] = strings.ToLower(host)
	}
	return guard{origins: cfg.Origins, hosts: hosts, loopback: new(atomic.Bool)}
}

func (g *guard) bound(addr net.Addr) {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		g.loopback.Store(tcp.IP.IsLoopback())
	}
}

// check is the first handler of every request.
func (g *guard) check(c *fiber.Ctx) error {
	if host := c.Context().Host(); g.loopback.Load() && !g.hostAllowed(utils.UnsafeString(host)) {
		return gateway.Errorf(gateway.KindDenied, "host %q is not served here; add it to frontends.rest.hosts", gateway.Quotable(string(host)))
	}
	origin := c.Get(fiber.HeaderOrigin)
	if origin == "" {
		return c.Next()
	}
	c.Vary(fiber.HeaderOrigin)
	if g.sameOrigin(c, origin) {
		return c.Next()
	}
	if !slices.Contains(g.origins, "*") && !slices.Contains(g.origins, origin) {
		if c.Method() == fiber.MethodGet && c.Get(fiber.HeaderUpgrade) == "" || c.Method() == fiber.MethodHead {
			return c.Next() // without CORS headers the page cannot read the answer
		}
		return gateway.Errorf(gateway.KindDenied, "origin %q may not do that; add it to frontends.rest.origins", gateway.Quotable(copyOf(origin)))
	}
	c.Set(fiber.HeaderAccessControlAllowOrigin, copyOf(origin))
	c.Set(fiber.HeaderAccessControlExposeHeaders, "Allow, Retry-After")
	if c.Method() == fiber.MethodOptions {
		c.Set(fiber.HeaderAccessControlAllowMethods, "GET, HEAD, PUT, POST")
		c.Set(fiber.HeaderAccessControlAllowHeaders, "Content-Type, Last-Event-ID, X-Request-Id")
		c.Set(fiber.HeaderAccessControlMaxAge, "600")
		return c.SendStatus(fiber.StatusNoContent)
	}
	return c.Next()
}

func (g *guard) sameOrigin(c *fiber.Ctx, origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, string(c.Request().Host()))
}

// hostAllowed refuses names that a page could have pointed at this host (DNS
// rebinding). Addresses cannot be rebound, and browsers always send a host.
func (g *guard) hostAllowed(host string) bool {
	name := withoutPort(host)
	switch {
	case name == "" || name == "localhost" || name == "127.0.0.1":
		return true // what nearly everybody asks for
	case net.ParseIP(strings.Trim(name, "[]")) != nil:
		return true
	}
	name = strings.ToLower(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || slices.Contains(g.hosts, name)
}

// withoutPort cuts a port off; an IPv6 address is in brackets.
func withoutPort(host string) string {
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		return host[:colon]
	}
	return host
}
