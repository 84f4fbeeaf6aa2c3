package fanout

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestEachConnectionGetsAllInOrder(t *testing.T) {
	p := startPool(t)
	const connections, lines = 20, 500
	var done sync.WaitGroup
	for range connections {
		c := connect(t, p, Options{Limit: time.Minute, KeepAlive: time.Minute})
		done.Go(func() {
			for i := range lines {
				c.source.push(fmt.Sprintln(i))
				c.writer.Wake()
			}
		})
		done.Go(func() {
			scanner := bufio.NewScanner(c.client)
			for i := -1; i < lines && scanner.Scan(); i++ {
				want := "head"
				if i >= 0 {
					want = fmt.Sprint(i)
				}
				if scanner.Text() != want {
					t.Errorf("got %q, want %q", scanner.Text(), want)
				}
				if i == lines-1 {
					return
				}
			}
			t.Errorf("the stream ended early: %v", scanner.Err())
		})
	}
	done.Wait()
}

func TestWhoDoesNotReadHoldsUpNobodyAndMissesNothing(t *testing.T) {
	p := startPool(t)
	p.lanes = p.lanes[:1]
	slow := connect(t, p, Options{Limit: time.Minute, KeepAlive: time.Minute})
	slow.expect("head\n")
	const pieces, size = 512, 64 << 10 // more than sockets hold
	for i := range pieces {
		slow.source.push(strings.Repeat(string(rune('a'+i%26)), size))
	}
	slow.writer.Wake()
	other := connect(t, p, Options{Limit: time.Minute, KeepAlive: time.Minute})
	other.expect("head\n")
	for range 100 {
		other.source.push("event\n")
		other.writer.Wake()
		other.expect("event\n")
	}
	if len(slow.source.waiting()) == 0 {
		t.Error("all of it was taken from the queue of one who does not read")
	}
	for i := range pieces {
		slow.expect(strings.Repeat(string(rune('a'+i%26)), size))
	}
	slow.source.push("late\n")
	slow.writer.Wake()
	slow.expect("late\n")
}

func TestWhatComesDuringASlowWriteIsNotForgotten(t *testing.T) {
	for name, alone := range map[string]bool{"in passing": false, "alone": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := pipe(t, startPool(t), Options{Limit: time.Minute, KeepAlive: time.Hour, Alone: alone})
				last := "head\n"
				for _, next := range []string{"first\n", "second\n", "third\n"} {
					synctest.Wait() // until the last waits for its reader
					c.source.push(next)
					c.writer.Wake()
					synctest.Wait()
					c.expect(last)
					last = next
				}
				c.expect(last)
				synctest.Wait()
				before := c.source.asked()
				<-time.After(time.Minute)
				if after := c.source.asked(); after != before {
					t.Errorf("the source was asked %d times while there was nothing to say", after-before)
				}
			})
		})
	}
}

func TestASignOfLifeComesWhenNothingElseDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pipe(t, startPool(t), Options{Limit: time.Minute, KeepAlive: 10 * time.Second, Sign: "alive\n"})
		begin := time.Now()
		wantAt := func(after time.Duration, line string) {
			t.Helper()
			c.expect(line)
			if got := time.Since(begin); got != after {
				t.Errorf("%q after %v, want %v", line, got, after)
			}
		}
		wantAt(0, "head\n")
		<-time.After(4 * time.Second)
		c.source.push("event\n")
		c.writer.Wake()
		wantAt(4*time.Second, "event\n")
		wantAt(14*time.Second, "alive\n")
		wantAt(24*time.Second, "alive\n")
	})
}

func TestServingEnds(t *testing.T) {
	for name, end := range map[string]func(c *connection){
		"when the client goes":            func(c *connection) { _ = c.client.Close() },
		"when it is stopped":              func(c *connection) { c.writer.Stop() },
		"when the source fails":           func(c *connection) { c.source.fail(errors.New("no more")); c.writer.Wake() },
		"when a write takes for too long": func(c *connection) { c.source.push("event\n"); c.writer.Wake() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := pipe(t, startPool(t), Options{Limit: 10 * time.Second, KeepAlive: time.Hour})
				c.expect("head\n")
				synctest.Wait()
				begin := time.Now()
				end(c)
				<-c.served
				if took := time.Since(begin); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
				c.writer.Wake() // may come at any time
			})
		})
	}
}

func startPool(t *testing.T) *Pool {
	p := NewPool()
	t.Cleanup(p.Start())
	return p
}

// connection is one that is served.
type connection struct {
	t      *testing.T
	client net.Conn
	source *queue
	writer *Writer
	served chan struct{}
}

// connect makes a connection by TCP.
func connect(t *testing.T, p *Pool, opts Options) *connection {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := new(net.Dialer).DialContext(context.Background(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, p, server, client, opts)
}

// pipe makes a connection that takes nothing before its client reads.
func pipe(t *testing.T, p *Pool, opts Options) *connection {
	server, client := net.Pipe()
	return serve(t, p, server, client, opts)
}

func serve(t *testing.T, p *Pool, server, client net.Conn, opts Options) *connection {
	c := &connection{t: t, client: client, source: &queue{}, writer: p.NewWriter(server), served: make(chan struct{})}
	go func() {
		defer close(c.served)
		c.writer.Serve(server, []byte("head\n"), c.source, opts)
	}()
	t.Cleanup(func() {
		_ = client.Close()
		<-c.served
		_ = server.Close()
	})
	return c
}

func (c *connection) expect(want string) {
	c.t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c.client, got); err != nil {
		c.t.Fatal(err)
	}
	if string(got) != want {
		c.t.Fatalf("got %.20q, want %.20q", got, want)
	}
}

// queue is a source of pieces.
type queue struct {
	mu     sync.Mutex
	pieces []string
	err    error
	calls  int
}

func (q *queue) Next(dst []byte) (piece []byte, more bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls++
	if len(q.pieces) == 0 {
		return dst, false, q.err
	}
	dst = append(dst, q.pieces[0]...)
	q.pieces = q.pieces[1:]
	return dst, len(q.pieces) > 0, nil
}

func (q *queue) push(piece string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pieces = append(q.pieces, piece)
}

func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = err
}

func (q *queue) asked() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.calls
}

func (q *queue) waiting() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pieces
}
