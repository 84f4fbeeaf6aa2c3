package devicetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Line says how an instrument's requests and replies end.
type Line struct {
	// RequestEnd ends a request. If it is empty a request is complete when it
	// is one that Answer was told of.
	RequestEnd string
	ReplyEnd   string // appended to every reply
}

// A Fault is how an instrument spoils one reply.
type Fault struct {
	Silent bool // there is no reply
	Half   bool // the first half of the reply, and no end
	Echo   bool // the request comes back before the reply
	// Raw is sent in place of the reply and its end, if it is set.
	Raw string
	// Before and After are sent around the reply, as they are.
	Before, After string
	// Behind holds the reply until so many further requests have come; it
	// goes out before their replies.
	Behind int
	// Until holds the reply until the channel is closed. Other requests are
	// answered meanwhile.
	Until <-chan struct{}
}

// Traffic is what went over the line at once.
type Traffic struct {
	Time time.Time
	Sent bool // by the instrument; otherwise received
	Data string
}

// An Instrument answers requests on a byte stream by a table and records all
// bytes. Its methods may be called from any goroutine.
type Instrument struct {
	stream io.ReadWriter
	line   Line
	done   chan struct{} // closed when the stream has ended or the test is over
	late   sync.WaitGroup

	mu       sync.Mutex
	table    map[string]string
	other    func(request string) (reply string, ok bool)
	faults   map[string][]Fault
	silent   bool
	held     []heldReply
	requests []string
	traffic  []Traffic
	changed  chan struct{} // closed and replaced at each request
}

type heldReply struct {
	data  string
	after int // goes out when so many requests have come
}

// StartInstrument lets an instrument answer on a stream until the test ends. It
// then closes the stream, if that can be closed, so that reads return.
func StartInstrument(tb testing.TB, stream io.ReadWriter, line Line) *Instrument {
	tb.Helper()
	i := &Instrument{
		stream: stream, line: line, done: make(chan struct{}),
		table: make(map[string]string), faults: make(map[string][]Fault), changed: make(chan struct{}),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		i.serve()
	}()
	tb.Cleanup(func() {
		if c, ok := stream.(io.Closer); ok {
			_ = c.Close() // the read below ends either way
		}
		<-ended
		i.late.Wait()
	})
	return i
}

// Answer sets the reply to a request. Both are without their ends.
func (i *Instrument) Answer(request, reply string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.table[request] = reply
}

// Handle lets f answer what is not in the table. It gets every request in
// turn, on the instrument's goroutine; without ok there is no reply.
func (i *Instrument) Handle(f func(request string) (reply string, ok bool)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.other = f
}

// Spoil spoils the next replies to a request, one fault each; the zero Fault
// spoils nothing. The empty request stands for any.
func (i *Instrument) Spoil(request string, faults ...Fault) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.faults[request] = append(i.faults[request], faults...)
}

// SetSilent makes the instrument leave all requests unanswered, or answer again.
func (i *Instrument) SetSilent(silent bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.silent = silent
}

// Send writes bytes that nobody asked for, as they are.
func (i *Instrument) Send(data string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.write(data)
}

// Requests returns the complete requests so far, without their ends.
func (i *Instrument) Requests() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.requests)
}

// Traffic returns all bytes so far.
func (i *Instrument) Traffic() []Traffic {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.traffic)
}

// Wait waits until done, called with the requests so far and after each new
// one, returns true. The error is that of ctx, with what was received.
func (i *Instrument) Wait(ctx context.Context, done func(requests []string) bool) error {
	for {
		i.mu.Lock()
		requests, changed := slices.Clone(i.requests), i.changed
		i.mu.Unlock()
		if done(requests) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w; requests so far: %q", ctx.Err(), requests)
		}
	}
}

func (i *Instrument) serve() {
	defer close(i.done)
	var pending []byte
	buf := make([]byte, 4096)
	for {
		n, err := i.stream.Read(buf)
		pending = append(pending, buf[:n]...)
		i.mu.Lock()
		if n > 0 {
			i.traffic = append(i.traffic, Traffic{Time: time.Now(), Data: string(buf[:n])})
		}
		for {
			request, rest, ok := i.cut(pending)
			if !ok {
				break
			}
			pending = rest
			i.take(request)
		}
		i.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// cut takes the first complete request off what was received.
func (i *Instrument) cut(received []byte) (request string, rest []byte, ok bool) {
	if i.line.RequestEnd != "" {
		before, after, found := bytes.Cut(received, []byte(i.line.RequestEnd))
		return string(before), after, found
	}
	for request := range i.table {
		if request != "" && strings.HasPrefix(string(received), request) {
			return request, received[len(request):], true
		}
	}
	return "", received, false
}

// take records a request and answers it. A reply that cannot be written is the
// reader's business: the link is gone.
func (i *Instrument) take(request string) {
	i.requests = append(i.requests, request)
	close(i.changed)
	i.changed = make(chan struct{})
	i.sendHeld()

	reply, ok := i.table[request]
	if !ok && i.other != nil {
		reply, ok = i.other(request)
	}
	fault := i.nextFault(request)
	if !ok || i.silent || fault.Silent {
		return
	}
	data := fault.apply(request, reply, i.line)
	switch {
	case fault.Until != nil:
		i.late.Go(func() { i.sendLate(data, fault.Until) })
	case fault.Behind > 0:
		i.held = append(i.held, heldReply{data: data, after: len(i.requests) + fault.Behind})
	default:
		_ = i.write(data)
	}
}

func (f *Fault) apply(request, reply string, line Line) string {
	data := reply + line.ReplyEnd
	switch {
	case f.Raw != "":
		data = f.Raw
	case f.Half:
		data = reply[:(len(reply)+1)/2]
	}
	if f.Echo {
		data = request + line.RequestEnd + data
	}
	return f.Before + data + f.After
}

func (i *Instrument) nextFault(request string) Fault {
	for _, key := range []string{request, ""} {
		if queue := i.faults[key]; len(queue) > 0 {
			i.faults[key] = queue[1:]
			return queue[0]
		}
	}
	return Fault{}
}

func (i *Instrument) sendHeld() {
	i.held = slices.DeleteFunc(i.held, func(h heldReply) bool {
		if h.after > len(i.requests) {
			return false
		}
		_ = i.write(h.data)
		return true
	})
}

func (i *Instrument) sendLate(data string, until <-chan struct{}) {
	select {
	case <-until:
		i.mu.Lock()
		defer i.mu.Unlock()
		_ = i.write(data)
	case <-i.done:
	}
}

// write is called with the mutex held, so that replies do not mix.
func (i *Instrument) write(data string) error {
	if data == "" {
		return nil
	}
	i.traffic = append(i.traffic, Traffic{Time: time.Now(), Sent: true, Data: data})
	if _, err := io.WriteString(i.stream, data); err != nil {
		return fmt.Errorf("instrument: %w", err)
	}
	return nil
}
