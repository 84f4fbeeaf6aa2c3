package faults_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

// An instrument answers at a TCP address, like one behind a terminal server. It
// holds one number for all who are connected.
type instrument struct {
	t        *testing.T
	listener net.Listener
	wait     sync.WaitGroup

	mu       sync.Mutex
	conns    map[net.Conn]struct{}
	value    string
	requests []request
	held     map[string]chan struct{} // replies to this request wait
	more     chan struct{}            // closed and replaced at each request
}

// A request is one line that the instrument got.
type request struct {
	text string
	from string // the other end of the connection
	at   time.Time
	held bool // its reply waits
}

func newInstrument(t *testing.T) *instrument {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	i := &instrument{
		t: t, listener: listener, value: "0", conns: map[net.Conn]struct{}{},
		held: map[string]chan struct{}{}, more: make(chan struct{}),
	}
	i.wait.Go(i.accept)
	t.Cleanup(func() {
		listener.Close()
		i.mu.Lock()
		for _, held := range i.held {
			close(held)
		}
		clear(i.held)
		for conn := range i.conns {
			conn.Close()
		}
		i.mu.Unlock()
		i.wait.Wait()
	})
	return i
}

func (i *instrument) address() string { return i.listener.Addr().String() }

func (i *instrument) accept() {
	for n := 1; ; n++ {
		conn, err := i.listener.Accept()
		if err != nil {
			return
		}
		i.mu.Lock()
		i.conns[conn] = struct{}{}
		i.mu.Unlock()
		// Its port alone may have been another's before.
		from := fmt.Sprintf("connection %d from %s", n, conn.RemoteAddr())
		i.wait.Go(func() { i.serve(conn, from) })
	}
}

func (i *instrument) serve(conn net.Conn, from string) {
	defer func() {
		conn.Close()
		i.mu.Lock()
		delete(i.conns, conn)
		i.mu.Unlock()
	}()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		reply, held := i.take(request{text: lines.Text(), from: from, at: time.Now()})
		if held != nil {
			<-held
		}
		if reply == "" {
			continue
		}
		if _, err := fmt.Fprintf(conn, "%s\n", reply); err != nil {
			return
		}
	}
}

// take keeps a request and returns its reply, which waits for held.
func (i *instrument) take(r request) (reply string, held <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if h := i.held[r.text]; h != nil {
		held, r.held = h, true
	}
	i.requests = append(i.requests, r)
	close(i.more)
	i.more = make(chan struct{})
	if set, ok := strings.CutPrefix(r.text, "V="); ok {
		i.value = set
		return "", held
	}
	return i.value, held
}

// change changes the number by the instrument's own buttons.
func (i *instrument) change(value int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.value = fmt.Sprint(value)
}

// hold makes replies to a request wait, until release is called.
func (i *instrument) hold(text string) (release func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	held := make(chan struct{})
	i.held[text] = held
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.held[text] == held {
			delete(i.held, text)
			close(held)
		}
	}
}

// stall makes replies to a request wait, and returns when one does.
func (i *instrument) stall(text string) (release func()) {
	i.t.Helper()
	skip := len(i.got())
	release = i.hold(text)
	i.await(skip, text, func(r request) bool { return r.text == text && r.held })
	return release
}

// got returns the requests so far.
func (i *instrument) got() []request {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.requests)
}

// connections returns how many are connected.
func (i *instrument) connections() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.conns)
}

// writes counts how often a value was written.
func (i *instrument) writes(value int) int {
	n := 0
	for _, r := range i.got() {
		if r.text == fmt.Sprintf("V=%d", value) {
			n++
		}
	}
	return n
}

// await waits until a request comes that is as wanted, not counting the first
// ones, and returns it.
func (i *instrument) await(skip int, what string, wanted func(request) bool) request {
	i.t.Helper()
	limit := time.After(rig.Limit)
	for {
		i.mu.Lock()
		requests, more := slices.Clone(i.requests), i.more
		i.mu.Unlock()
		for _, r := range requests[min(skip, len(requests)):] {
			if wanted(r) {
				return r
			}
		}
		skip = len(requests)
		select {
		case <-more:
		case <-limit:
			i.t.Fatalf("the instrument does not get %s", what)
		}
	}
}
