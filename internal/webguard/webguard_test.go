package webguard

import (
	"net"
	"testing"
)

func TestDecide(t *testing.T) {
	const own = "localhost:8081"
	for _, test := range []struct {
		name    string
		origins []string
		hosts   []string
		request Request
		want    Decision
	}{
		{"no browser", nil, nil, Request{Method: "POST", Host: own}, Serve},
		{"own page", nil, nil, Request{Method: "POST", Host: own, Origin: "http://localhost:8081"}, Serve},
		{"own page, other case", nil, nil, Request{Method: "POST", Host: "LocalHost:8081", Origin: "http://localhost:8081"}, Serve},
		{"own host, other port", nil, nil, Request{Method: "POST", Host: own, Origin: "http://localhost:9"}, RefuseOrigin},
		{"foreign page writes", nil, nil, Request{Method: "POST", Host: own, Origin: "http://evil.example"}, RefuseOrigin},
		{"foreign page reads", nil, nil, Request{Method: "GET", Host: own, Origin: "http://evil.example"}, ServeOpaque},
		{"foreign page looks", nil, nil, Request{Method: "HEAD", Host: own, Origin: "http://evil.example"}, ServeOpaque},
		{"foreign page upgrades", nil, nil, Request{Method: "GET", Host: own, Origin: "http://evil.example", Upgrade: true}, RefuseOrigin},
		{"foreign page asks", nil, nil, Request{Method: "OPTIONS", Host: own, Origin: "http://evil.example"}, RefuseOrigin},
		{"sandboxed page", nil, nil, Request{Method: "POST", Host: own, Origin: "null"}, RefuseOrigin},
		{"broken origin", nil, nil, Request{Method: "POST", Host: own, Origin: "http://%zz"}, RefuseOrigin},
		{"listed page", []string{"http://a.example"}, nil, Request{Method: "POST", Host: own, Origin: "http://a.example"}, ServeCORS},
		{"listed page upgrades", []string{"http://a.example"}, nil, Request{Method: "GET", Host: own, Origin: "http://a.example", Upgrade: true}, ServeCORS},
		{"listed page asks", []string{"http://a.example"}, nil, Request{Method: "OPTIONS", Host: own, Origin: "http://a.example"}, Preflight},
		{"listed without its port", []string{"http://a.example"}, nil, Request{Method: "POST", Host: own, Origin: "http://a.example:81"}, RefuseOrigin},
		{"any page", []string{"*"}, nil, Request{Method: "POST", Host: own, Origin: "http://b.example"}, ServeCORS},
		{"address", nil, nil, Request{Method: "GET", Host: "127.0.0.1:8081"}, Serve},
		{"address of version 6", nil, nil, Request{Method: "GET", Host: "[::1]:8081"}, Serve},
		{"address without a port", nil, nil, Request{Method: "GET", Host: "[::1]"}, Serve},
		{"below localhost", nil, nil, Request{Method: "GET", Host: "gateway.localhost"}, Serve},
		{"no host", nil, nil, Request{Method: "GET"}, Serve},
		{"name pointed here", nil, nil, Request{Method: "GET", Host: "rebound.example", Origin: "http://rebound.example"}, RefuseHost},
		{"listed name", nil, []string{"Gateway.Lab"}, Request{Method: "GET", Host: "gateway.LAB:8081"}, Serve},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := New(test.origins, test.hosts)
			g.Bound(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8081})
			if got := g.Decide(test.request); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestHostsMatterOnLoopbackOnly(t *testing.T) {
	g := New(nil, nil)
	g.Bound(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 8081})
	if got := g.Decide(Request{Method: "GET", Host: "gateway.lab"}); got != Serve {
		t.Errorf("got %d, want %d", got, Serve)
	}
}
