package ca

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/polygate/gateway/ca/cawire"
)

// A rawClient is a client's end of a circuit. It checks that whatever the server
// sends is allowed by the protocol's state tables. It reads only when asked.
type rawClient struct {
	conn    net.Conn
	buf     []byte
	in      []byte
	circuit *cawire.Circuit
	minor   cawire.Minor
	lastID  uint32
}

// limit is how long a test waits for what must happen.
const limit = 20 * time.Second

// dialRaw connects and introduces itself.
func dialRaw(addr string, minor cawire.Minor) (*rawClient, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &rawClient{conn: conn, buf: make([]byte, 64<<10), circuit: cawire.NewCircuit(cawire.Client), minor: minor}
	_ = conn.SetDeadline(time.Now().Add(limit))
	err = c.send(&cawire.Version{Minor: minor}, &cawire.ClientName{Name: []byte("tester")}, &cawire.HostName{Name: []byte("testhost")})
	return c, err
}

func (c *rawClient) close() { _ = c.conn.Close() }

// send sends messages in one write.
func (c *rawClient) send(messages ...cawire.Message) error {
	var out []byte
	for _, m := range messages {
		if err := c.circuit.Sent(m); err != nil {
			return err
		}
		var err error
		if out, err = m.Append(out, cawire.MinorCurrent); err != nil {
			return err
		}
	}
	_, err := c.conn.Write(out)
	return err
}

// receive returns the next message.
func (c *rawClient) receive() (cawire.Message, error) {
	for {
		frame, n, err := cawire.Next(c.in, 1<<30)
		switch {
		case err == nil:
			m, err := cawire.Decode(cawire.Frame{Header: frame.Header, Payload: append([]byte(nil), frame.Payload...)}, cawire.Server, cawire.OnCircuit)
			if err != nil {
				return nil, err
			}
			c.in = c.in[n:]
			return m, c.circuit.Received(m)
		case !errors.Is(err, cawire.ErrIncomplete):
			return nil, err
		}
		got, err := c.conn.Read(c.buf)
		if got == 0 && err != nil {
			return nil, err
		}
		c.in = append(c.in, c.buf[:got]...)
	}
}

// id returns a new client's id.
func (c *rawClient) id() uint32 {
	c.lastID++
	return c.lastID
}

// errNoChannel means that the server does not know the name.
var errNoChannel = errors.New("no such channel")

// open creates a channel by name; errNoChannel if there is none. Events that
// come meanwhile are lost.
func (c *rawClient) open(name string) (*cawire.CreateChanReply, error) {
	cid := c.id()
	if err := c.send(&cawire.CreateChanRequest{CID: cid, Minor: c.minor, Name: []byte(name)}); err != nil {
		return nil, err
	}
	for {
		m, err := c.receive()
		if err != nil {
			return nil, err
		}
		switch m := m.(type) {
		case *cawire.CreateChanReply:
			if m.CID == cid {
				return m, nil
			}
		case *cawire.CreateChFail:
			if m.CID == cid {
				return nil, errNoChannel
			}
		}
	}
}

// find searches on the circuit.
func (c *rawClient) find(name string) (bool, error) {
	cid := c.id()
	if err := c.send(&cawire.SearchRequest{Reply: cawire.DoReply, Minor: c.minor, CID: cid, Name: []byte(name)}); err != nil {
		return false, err
	}
	for {
		m, err := c.receive()
		if err != nil {
			return false, err
		}
		switch m.(type) {
		case *cawire.SearchReply:
			return true, nil
		case *cawire.NotFound:
			return false, nil
		}
	}
}

// read asks for a value and waits for it.
func (c *rawClient) read(sid uint32, typ cawire.Type, count uint32) (*cawire.ReadNotifyReply, error) {
	ioid := c.id()
	if err := c.send(&cawire.ReadNotifyRequest{Type: typ, Count: count, SID: sid, IOID: ioid}); err != nil {
		return nil, err
	}
	for {
		m, err := c.receive()
		if err != nil {
			return nil, err
		}
		if reply, ok := m.(*cawire.ReadNotifyReply); ok && reply.IOID == ioid {
			return reply, nil
		}
	}
}

// write puts with a callback and waits for it.
func (c *rawClient) write(sid uint32, typ cawire.Type, count uint32, payload []byte) (cawire.Status, error) {
	ioid := c.id()
	err := c.send(&cawire.WriteNotifyRequest{Type: typ, Count: count, SID: sid, IOID: ioid, Payload: payload})
	if err != nil {
		return 0, err
	}
	for {
		m, err := c.receive()
		if err != nil {
			return 0, err
		}
		if reply, ok := m.(*cawire.WriteNotifyReply); ok && reply.IOID == ioid {
			return reply.Status, nil
		}
	}
}

// A tester is a rawClient whose failures end the test.
type tester struct {
	*rawClient
	t testing.TB
}

func dialTester(t testing.TB, addr string, minor cawire.Minor) *tester {
	t.Helper()
	c, err := dialRaw(addr, minor)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return &tester{c, t}
}

func (c *tester) mustOpen(name string) *cawire.CreateChanReply {
	c.t.Helper()
	ch, err := c.open(name)
	if err != nil {
		c.t.Fatalf("opening %s: %v", name, err)
	}
	return ch
}

// values reads and takes the payload apart.
func (c *tester) values(sid uint32, typ cawire.Type, count uint32) (cawire.Meta, cawire.Values, *cawire.ReadNotifyReply) {
	c.t.Helper()
	reply, err := c.read(sid, typ, count)
	if err != nil {
		c.t.Fatalf("reading %v: %v", typ, err)
	}
	var meta cawire.Meta
	var values cawire.Values
	if reply.Status == cawire.ECANormal {
		if err := cawire.DecodeDBR(typ, reply.Count, reply.Payload, &meta, &values); err != nil {
			c.t.Fatalf("reading %v[%d]: %v", typ, count, err)
		}
	}
	return meta, values, reply
}

func (c *tester) text(name string) string {
	c.t.Helper()
	_, v, reply := c.values(c.mustOpen(name).SID, cawire.DBRString, 1)
	if reply.Status != cawire.ECANormal {
		return reply.Status.String()
	}
	return v.Strings[0]
}

func (c *tester) mustSend(messages ...cawire.Message) {
	c.t.Helper()
	if err := c.send(messages...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *tester) mustReceive() cawire.Message {
	c.t.Helper()
	m, err := c.receive()
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

// until receives messages up to the first of a type that fits.
func until[M cawire.Message](c *tester, fits func(M) bool) M {
	c.t.Helper()
	for {
		if m, ok := c.mustReceive().(M); ok && (fits == nil || fits(m)) {
			return m
		}
	}
}

// wantClosed checks that the server ends the circuit.
func (c *tester) wantClosed() {
	c.t.Helper()
	for {
		_, err := c.receive()
		if err == nil {
			continue
		}
		var timeout net.Error
		if !errors.Is(err, io.EOF) && (errors.As(err, &timeout) && timeout.Timeout()) {
			c.t.Fatalf("the circuit is still open: %v", err)
		}
		return
	}
}

// encode makes the payload of a put.
func encode(typ cawire.Type, count int, v cawire.Values) []byte {
	payload, err := cawire.AppendDBR(nil, typ, uint32(count), nil, &v)
	if err != nil {
		panic(fmt.Sprintf("%v: %v", typ, err))
	}
	return payload
}

// within ends a connection's reads when ctx ends.
func within(ctx context.Context, conn net.Conn) (stop func() bool) {
	_ = conn.SetReadDeadline(time.Now().Add(2 * limit))
	return context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
}
