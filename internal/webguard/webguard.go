// Package webguard keeps web pages of other origins from using an interface
// through the browser of somebody who can reach it, and names that were pointed
// at this host from reaching a loopback listener (DNS rebinding). One list
// decides about CORS, about requests that change something, and about upgrades
// to a WebSocket.
//
// It decides, and leaves it to each HTTP library how to say so.
package webguard

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
)

// Guard holds the lists. It may be used by any goroutine.
type Guard struct {
	origins, hosts []string
	loopback       atomic.Bool // listening on this host only
}

// New makes a guard. The origins may use the interface from pages elsewhere;
// "*" is any. The hosts are further names that a loopback listener answers to.
func New(origins, hosts []string) *Guard {
	g := &Guard{origins: slices.Clone(origins), hosts: make([]string, len(hosts))}
	for i, host := range hosts {
		g.hosts[i] = strings.ToLower(host)
	}
	return g
}

// Bound tells where the interface listens. Before it, hosts are not looked at.
func (g *Guard) Bound(addr net.Addr) {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		g.loopback.Store(tcp.IP.IsLoopback())
	}
}

// Request is what the decision depends on. The strings are not kept.
type Request struct {
	Method string
	Host   string // the Host header, with or without a port
	Origin string // the Origin header; empty if there is none
	// Upgrade is set for a request that wants another protocol, as a
	// WebSocket does. Browsers allow that without asking.
	Upgrade bool
}

// Decision is what becomes of a request.
type Decision uint8

// The decisions.
const (
	// Serve it. There is no origin, or it is our own.
	Serve Decision = iota
	// ServeOpaque is to serve it without CORS headers: it changes nothing,
	// and the page that asked cannot read the answer.
	ServeOpaque
	// ServeCORS is to serve it, with the origin in Access-Control-Allow-Origin.
	ServeCORS
	// Preflight is to answer a browser's question whether a page may ask.
	Preflight
	// RefuseHost and RefuseOrigin are to answer "denied".
	RefuseHost
	RefuseOrigin
)

// Decide tells what becomes of a request. Whatever it is, an answer to a request
// with an origin must have Vary: Origin.
func (g *Guard) Decide(r Request) Decision {
	switch {
	case g.loopback.Load() && !g.hostAllowed(r.Host):
		return RefuseHost
	case r.Origin == "" || sameOrigin(r.Origin, r.Host):
		return Serve
	case slices.Contains(g.origins, "*") || slices.Contains(g.origins, r.Origin):
		if r.Method == http.MethodOptions {
			return Preflight
		}
		return ServeCORS
	case (r.Method == http.MethodGet || r.Method == http.MethodHead) && !r.Upgrade:
		return ServeOpaque
	}
	return RefuseOrigin
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, host)
}

// hostAllowed refuses names that a page could have pointed at this host.
// Addresses cannot be pointed elsewhere, and browsers always send a host.
func (g *Guard) hostAllowed(host string) bool {
	name := withoutPort(host)
	switch {
	case name == "" || name == "localhost" || name == "127.0.0.1":
		return true // what nearly everybody asks for, without allocating
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
