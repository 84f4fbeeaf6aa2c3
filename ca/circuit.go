package ca

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
)

// A circuit is one client's connection. One goroutine reads and answers; a
// second one, which starts with the first subscription, delivers events. Either
// writes what there is when nobody else is writing, so an answer needs no
// goroutine but the one that made it.
type circuit struct {
	server *Server
	conn   net.Conn
	reader *reader
	peer   string
	since  time.Time
	log    zerolog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // the deliverer and those who wait for verdicts

	mu       sync.Mutex
	drained  sync.Cond // of mu: something has been written, or err is set
	out      outbox
	writing  bool
	err      error // the connection is gone
	minor    cawire.Minor
	hello    bool // the client has said its version
	user     string
	host     string
	session  gateway.Session     // nil before the first channel
	channels map[uint32]*channel // by sid
	gone     map[uint32]*channel // by cid: what we have ended ourselves
	wanted   map[uint32]string   // by cid: names that were searched for in vain
	subs     map[uint32]*subscription
	watches  map[gateway.WatchID]*subscription
	lastSID  uint32
	lastPuts map[gateway.Path]lastPut
	underWay []<-chan struct{} // closed when a put has ended; oldest first
	notifies int               // puts whose clients wait for the verdict
	awaited  *notify           // what the reading goroutine is to wait for
	patience *time.Timer       // with this
	scratch  cawire.Values
	reply    struct { // where the most frequent messages are made, so that they need no memory each
		event cawire.Event
		read  cawire.ReadNotifyReply
	}
	events   *deliverer
	counters counters
}

// counters are what the status page shows of a client.
type counters struct {
	requests, reads, writes, events, failures atomic.Uint64
}

// A channel is one name that the client has opened.
type channel struct {
	target
	cid, sid uint32
	gone     bool // the attribute is no more, and the client has been told
	subs     map[uint32]*subscription
}

func newCircuit(s *Server, conn net.Conn) *circuit {
	peer := conn.RemoteAddr().String()
	c := &circuit{
		server: s, conn: conn, reader: newReader(conn, &s.looking), peer: peer, since: time.Now(), log: s.log.With().Str("peer", peer).Logger(),
		channels: map[uint32]*channel{}, subs: map[uint32]*subscription{}, watches: map[gateway.WatchID]*subscription{},
		gone: map[uint32]*channel{}, lastPuts: map[gateway.Path]lastPut{},
	}
	c.drained.L = &c.mu
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	return c
}

// errClosed ends a circuit because of what the client sent; the log has said why.
var errClosed = errors.New("closed by the server")

// serve reads and answers until the connection ends.
func (c *circuit) serve() {
	stop := context.AfterFunc(c.ctx, func() { _ = c.conn.Close() })
	defer stop()
	c.mu.Lock()
	_ = c.out.add(&cawire.Version{Minor: cawire.MinorCurrent}, cawire.MinorCurrent)
	c.mu.Unlock()
	err := c.flush()
	if err == nil {
		err = c.read()
		c.await() // what was put before the end has a verdict, too
	}
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), c.ctx.Err() != nil:
	case errors.Is(err, errClosed):
		c.lingering()
	default:
		c.log.Debug().Err(err).Msg("connection lost")
	}
	c.close()
}

// lingering sends what explains the end before the end.
func (c *circuit) lingering() {
	_ = c.conn.SetWriteDeadline(time.Now().Add(time.Second))
	_ = c.flush()
	if tcp, ok := c.conn.(*net.TCPConn); ok && tcp.CloseWrite() == nil {
		// What the client still sends must not turn the last words into a reset.
		_ = c.conn.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = io.Copy(io.Discard, io.LimitReader(c.conn, 1<<20))
	}
}

// close frees everything. Puts that were accepted go on.
func (c *circuit) close() {
	c.cancel()
	_ = c.conn.Close()
	c.mu.Lock()
	c.fail(net.ErrClosed)
	events := c.events
	c.mu.Unlock()
	if events != nil {
		events.stream.Close()
	}
	c.work.Wait()
}

// fail must be called with c.mu held.
func (c *circuit) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.drained.Broadcast()
}

// Buffers of a circuit.
const (
	firstBuffer = 4 << 10
	keepBuffer  = 64 << 10
	// highWater is how much may wait to be sent before those who make more must wait.
	highWater = 256 << 10
)

// read takes requests off the connection.
func (c *circuit) read() error {
	buf := make([]byte, firstBuffer)
	end, skip := 0, uint64(0)
	for {
		n, failed := c.reader.Read(buf[end:])
		end += n
		if n > 0 {
			start, left, need, err := c.handleAll(buf[:end], skip)
			if err != nil {
				return err
			}
			if err := c.flush(); err != nil {
				return err
			}
			c.await()
			skip = left
			buf, end = makeRoom(buf, start, end, need)
		}
		if failed != nil {
			return failed
		}
	}
}

// makeRoom keeps what is not complete, moved to the front. The buffer grows with
// what has arrived, not with what a header claims.
func makeRoom(buf []byte, start, end, need int) ([]byte, int) {
	rest := buf[start:end]
	size := len(buf)
	switch {
	case len(rest) == 0 && size > keepBuffer:
		return make([]byte, firstBuffer), 0
	case len(rest) == len(buf):
		size = max(min(2*size, need), size+1)
		grown := make([]byte, size)
		return grown, copy(grown, rest)
	}
	return buf, copy(buf, rest)
}

// handleAll handles every complete message of buf, behind what is to be skipped.
// It returns where the rest begins, how many bytes are still to be skipped, and
// how long the rest must become.
func (c *circuit) handleAll(buf []byte, skip uint64) (start int, left uint64, need int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for start < len(buf) {
		if skip > 0 {
			n := min(skip, uint64(len(buf)-start))
			start, skip = start+int(n), skip-n
			continue
		}
		frame, n, err := cawire.Next(buf[start:], uint32(c.server.settings.maxArrayBytes)+frameSlack)
		switch {
		case errors.Is(err, cawire.ErrIncomplete):
			return start, 0, n, nil
		case errors.Is(err, cawire.ErrMisaligned):
			return start, 0, 0, c.refuse(frame, cawire.ECAInternal, "misaligned message")
		case errors.Is(err, cawire.ErrTooLarge):
			c.sendError(frame, cawire.ECATooLarge, "request is too large (EPICS_CA_MAX_ARRAY_BYTES)")
			skip = uint64(frame.PayloadSize)
		default:
			c.counters.requests.Add(1)
			if err := c.handle(frame); err != nil {
				return start, 0, 0, err
			}
		}
		start += n
		if c.out.size > highWater {
			c.mu.Unlock()
			err := c.flush()
			c.mu.Lock()
			if err != nil {
				return start, 0, 0, err
			}
		}
	}
	return start, skip, 0, nil
}

// frameSlack is what surrounds an array in a write.
const frameSlack = 1024

// flush sends what has been collected. If somebody else is sending it leaves
// that to them, and waits only while there is too much of it.
func (c *circuit) flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.writing && c.err == nil && c.out.size > highWater {
		c.drained.Wait()
	}
	if c.writing {
		return c.err
	}
	c.writing = true
	for c.err == nil && !c.out.empty() {
		buffers := c.out.take()
		last := buffers[len(buffers)-1]
		c.mu.Unlock()
		err := c.write(buffers)
		c.mu.Lock()
		if err != nil {
			c.fail(err)
			break
		}
		c.out.give(last)
		c.drained.Broadcast()
	}
	c.writing = false
	return c.err
}

func (c *circuit) write(buffers net.Buffers) error {
	if len(buffers) == 1 {
		n, err := c.conn.Write(buffers[0])
		c.server.bytesOut.Add(uint64(n))
		return err
	}
	n, err := buffers.WriteTo(c.conn)
	c.server.bytesOut.Add(uint64(n))
	return err
}

// send queues a message. It must be called with c.mu held, as must all below.
func (c *circuit) send(m cawire.Message) {
	// Its only error, a message that is too long for an old client, cannot
	// happen to messages without a payload.
	_ = c.out.add(m, c.minor)
}

// sendError says that a request failed which has no better way to say so.
func (c *circuit) sendError(f cawire.Frame, status cawire.Status, words string) {
	c.counters.failures.Add(1)
	cid := uint32(cawire.NoChannel)
	switch f.Command {
	case cawire.CmdEventAdd, cawire.CmdEventCancel, cawire.CmdRead, cawire.CmdReadNotify, cawire.CmdWrite, cawire.CmdWriteNotify:
		if ch := c.channels[f.Param1]; ch != nil {
			cid = ch.cid
		}
	case cawire.CmdSearch:
		cid = f.Param1
	}
	c.send(&cawire.ErrorReply{CID: cid, Status: status, Request: f.Header, Text: []byte(words)})
}

// refuse ends the circuit for what the client sent.
func (c *circuit) refuse(f cawire.Frame, status cawire.Status, words string) error {
	c.sendError(f, status, words)
	return c.hangUp(f, words)
}

// hangUp ends the circuit without a word.
func (c *circuit) hangUp(f cawire.Frame, words string) error {
	c.log.Info().Str("request", f.Command.String()).Str("user", gateway.Quotable(c.user)).Msg("closing the circuit: " + words)
	return errClosed
}

// begin makes the session when the first channel is opened; by then the client
// has said who it is.
func (c *circuit) begin() {
	if c.session == nil {
		c.session = c.server.view.For(gateway.Caller{Identity: c.user, Protocol: protocol, Peer: c.peerName()})
	}
}

func (c *circuit) peerName() string {
	if c.host == "" {
		return c.peer
	}
	return c.host + " (" + c.peer + ")"
}
