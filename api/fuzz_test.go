package api

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/frontendtest"
)

// FuzzHTTP serves arbitrary bytes from a client that then goes away.
func FuzzHTTP(f *testing.F) {
	for _, seed := range []string{
		"GET /api/v1/attributes/oven.ramp?ints=string HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /api/v1/attributes?match=oven.*&limit=2&after=oven.actual HTTP/1.0\r\n\r\n",
		"PUT /api/v1/attributes/oven.ramp?mode=latest&budget=1s HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n1.5",
		"PUT /api/v1/attributes/oven.text HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
		"POST /api/v1/commands/oven.move HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"value\":1}",
		"GET /api/v1/stream?match=%3E&max_rate=5 HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 1-1\r\n\r\n",
		"GET /api/v1/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n\x81\x85\x00\x00\x00\x00{\"a\":",
		"OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://a\r\n\r\nHEAD /docs/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"BREW / HTTP/1.1\r\n\r\n", "\x00\xff", "",
	} {
		f.Add([]byte(seed))
	}
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &goneConn{in: bytes.NewReader(data)}
		own := w.server.listener.add(c)
		_ = w.server.http.ServeConn(own)
		w.server.listener.open.Wait() // a stream ends a little later
		if out := c.written(); len(out) > 0 && !bytes.HasPrefix(out, []byte("HTTP/1.1 ")) {
			t.Errorf("%q was answered with %q", data, out)
		}
		if w.log.Len() > 0 {
			t.Errorf("%q: %s", data, w.log)
		}
	})
}

// goneConn is a client that has sent all it will ever send.
type goneConn struct {
	in *bytes.Reader

	mu  sync.Mutex
	out bytes.Buffer
}

func (c *goneConn) Read(p []byte) (int, error) { return c.in.Read(p) }

func (c *goneConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Write(p)
}

func (c *goneConn) written() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Bytes()
}

func (c *goneConn) Close() error                     { return nil }
func (c *goneConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *goneConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *goneConn) SetDeadline(time.Time) error      { return nil }
func (c *goneConn) SetReadDeadline(time.Time) error  { return nil }
func (c *goneConn) SetWriteDeadline(time.Time) error { return nil }

// FuzzClientMessage reads arbitrary messages as a WebSocket does.
func FuzzClientMessage(f *testing.F) {
	for _, seed := range []string{
		`{"type":"watch","id":"a","match":"oven.>","role":"both","changes":"value,alarm","max_rate":5,"cursor":"1-1"}`,
		`{"type":"put","id":"b","name":"oven.ramp","value":[1,{"a":null}],"mode":"latest","budget":"1s","urgent":true}`, `{}{}`, `null`, `[`,
	} {
		f.Add([]byte(seed))
	}
	descriptors := frontendtest.OvenDescriptors()
	f.Fuzz(func(t *testing.T, data []byte) {
		var m clientMessage
		if unmarshalStrict(data, &m) != nil {
			return
		}
		if o, err := m.options(); err == nil && (o.MinInterval < 0 || o.Match == (gateway.Pattern{})) {
			t.Errorf("%q gives %+v", data, o)
		}
		for _, d := range descriptors {
			a := &gateway.Attribute{Descriptor: d, Standing: &gateway.Standing{}}
			if v, err := m.value(a); err == nil && !a.IsCommand() && a.Check(v) != nil {
				t.Errorf("%q gives a value that does not fit %s", data, d.Path)
			}
		}
	})
}
