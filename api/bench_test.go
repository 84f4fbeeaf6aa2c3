package api

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/streamtime"
)

// BenchmarkGet measures one client on one kept-alive connection, in turns
// against the frontend and against a bare fasthttp handler that returns the same
// bytes. floor/ours is what is left of the floor's speed.
func BenchmarkGet(b *testing.B) {
	w := newWorld(b)
	const request = "GET /api/v1/attributes/oven.ramp HTTP/1.1\r\nHost: localhost\r\n\r\n"
	ours := newGetter(b, w.server.Addr(), request)
	body := ours.answer[bytes.Index(ours.answer, []byte("\r\n\r\n"))+4:]
	bare := newGetter(b, serveFloor(b, body), request)
	if len(ours.answer) != len(bare.answer) {
		b.Fatalf("the floor answers\n%s\nand not\n%s", bare.answer, ours.answer)
	}
	const block = 100
	var spent [2]time.Duration
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N/block + 1 {
		for i, g := range []*getter{ours, bare} {
			begin := time.Now()
			for range block {
				g.get(b)
			}
			spent[i] += time.Since(begin)
		}
	}
	n := float64((b.N/block + 1) * block)
	b.ReportMetric(float64(spent[0].Nanoseconds())/n, "ours-ns")
	b.ReportMetric(float64(spent[1].Nanoseconds())/n, "floor-ns")
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "floor/ours")
}

// BenchmarkHandler measures what a GET costs without a network.
func BenchmarkHandler(b *testing.B) {
	w := newWorld(b)
	for name, path := range map[string]string{"attribute": "/attributes/oven.ramp", "list": "/attributes?limit=1000"} {
		b.Run(name, func(b *testing.B) {
			ctx := &fasthttp.RequestCtx{}
			client, server := net.Pipe()
			defer client.Close()
			defer server.Close()
			c := &conn{Conn: streamtime.Conn{Conn: server}, listener: w.server.listener, peer: "127.0.0.1:1"}
			ctx.Init2(c, nil, false)
			ctx.Request.Header.SetMethod("GET")
			ctx.Request.Header.SetHost("localhost")
			ctx.Request.SetRequestURI("/api/v1" + path)
			b.ReportAllocs()
			for b.Loop() {
				ctx.Response.Reset()
				w.server.handle(ctx)
			}
			if ctx.Response.StatusCode() != 200 {
				b.Fatal(string(ctx.Response.Body()))
			}
		})
	}
}

// BenchmarkFanOut measures one update to n event streams, until the last has it.
func BenchmarkFanOut(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b)
			streams := make([]*bufio.Reader, n)
			for i := range streams {
				streams[i] = w.rawSSE("match=oven.actual")
			}
			b.ReportAllocs()
			i := 0.0
			for b.Loop() {
				i++
				w.Device.Set("oven.actual", gateway.Of(i))
				for _, lines := range streams {
					if e, err := readSSE(lines); err != nil || e.event != "sample" {
						b.Fatal(e, err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/stream")
		})
	}
}

// serveFloor serves body as the frontend does, and does nothing else.
func serveFloor(b *testing.B, body []byte) net.Addr {
	b.Helper()
	floor := &fasthttp.Server{NoDefaultDate: true, NoDefaultServerHeader: true, Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.SetContentType("application/json")
		ctx.Response.Header.SetCanonical([]byte("X-Content-Type-Options"), []byte("nosniff"))
		ctx.Response.Header.SetCanonical([]byte("Cache-Control"), []byte("no-store"))
		ctx.Response.SetBodyRaw(body)
	}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c, err := l.Accept(); err == nil {
			_ = floor.ServeConn(c)
		}
	}()
	b.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr()
}

// getter is a client that costs next to nothing: it knows how long the answer is.
type getter struct {
	conn    net.Conn
	request []byte
	answer  []byte
}

func newGetter(b *testing.B, addr net.Addr, request string) *getter {
	b.Helper()
	c, err := net.Dial("tcp", addr.String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	g := &getter{conn: c, request: []byte(request), answer: make([]byte, 64<<10)}
	if _, err := c.Write(g.request); err != nil {
		b.Fatal(err)
	}
	n, err := c.Read(g.answer) // a small answer comes at once
	if err != nil || !bytes.HasPrefix(g.answer, []byte("HTTP/1.1 200 OK")) {
		b.Fatal(err, string(g.answer[:n]))
	}
	g.answer = g.answer[:n]
	return g
}

func (g *getter) get(b *testing.B) {
	if _, err := g.conn.Write(g.request); err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadFull(g.conn, g.answer); err != nil {
		b.Fatal(err)
	}
}
