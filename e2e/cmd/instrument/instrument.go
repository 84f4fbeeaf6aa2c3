package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An instrument is what it holds and what it has said.
type instrument struct {
	out io.Writer

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	held  int64
	said  map[string][]int64 // the clocks that it told, by P and T
	told  []toldNumber
}

// A toldNumber is one H=<n>.
type toldNumber struct {
	Value int64 `json:"value"`
	At    int64 `json:"at"` // Unix microseconds
}

// remembered bounds what is kept of each: many times what a test asks for.
const remembered = 1 << 20

func newInstrument(out io.Writer) *instrument {
	i := &instrument{out: out, conns: map[net.Conn]struct{}{}, said: map[string][]int64{}}
	i.log(0)
	return i
}

// log notes what is held from now on.
func (i *instrument) log(held int64) {
	fmt.Fprintf(i.out, "held %d at %d\n", held, time.Now().UnixMicro())
}

func (i *instrument) serve(ctx context.Context, lines, control net.Listener, every time.Duration) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /said", i.answer)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	var all sync.WaitGroup
	defer all.Wait()
	stop := context.AfterFunc(ctx, func() {
		_ = lines.Close()
		_ = server.Close()
		i.hangUp()
	})
	defer stop()
	all.Go(func() { _ = server.Serve(control) })
	if every > 0 {
		all.Go(func() { i.tell(ctx, every) })
	}
	fmt.Fprintln(i.out, "ready")
	for {
		conn, err := lines.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		i.mu.Lock()
		i.conns[conn] = struct{}{}
		i.mu.Unlock()
		all.Go(func() { i.talk(conn) })
	}
}

func (i *instrument) hangUp() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for conn := range i.conns {
		_ = conn.Close()
	}
}

// talk answers until the other side goes away.
func (i *instrument) talk(conn net.Conn) {
	defer func() {
		i.mu.Lock()
		delete(i.conns, conn)
		i.mu.Unlock()
		_ = conn.Close()
	}()
	requests := bufio.NewScanner(conn)
	for requests.Scan() {
		i.handle(conn, strings.TrimSpace(requests.Text()))
	}
}

// handle carries out one request. Replies and what is told unasked are lines of
// one stream, so they are written under the lock. A failed write ends talk.
func (i *instrument) handle(conn io.Writer, request string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch number, set := strings.CutPrefix(request, "H="); {
	case set:
		value, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return
		}
		i.held = value
		i.told = remember(i.told, toldNumber{value, time.Now().UnixMicro()})
		i.log(value)
	case request == "H?":
		_, _ = fmt.Fprintf(conn, "H=%d\r\n", i.held)
	case request == "P?":
		_, _ = fmt.Fprintf(conn, "P=%d\r\n", i.clock("P"))
	}
}

// tell tells the clock to everybody, unasked.
func (i *instrument) tell(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		i.mu.Lock()
		if len(i.conns) > 0 {
			line := fmt.Appendf(nil, "T=%d\r\n", i.clock("T"))
			for conn := range i.conns {
				_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
				_, _ = conn.Write(line)
			}
		}
		i.mu.Unlock()
	}
}

// clock reads the clock and remembers that it was told. No two are equal.
func (i *instrument) clock(kind string) int64 {
	at := time.Now().UnixMicro()
	if said := i.said[kind]; len(said) > 0 {
		at = max(at, said[len(said)-1]+1)
	}
	i.said[kind] = remember(i.said[kind], at)
	return at
}

func remember[T any](list []T, item T) []T {
	if len(list) >= remembered {
		list = list[len(list)/2:]
	}
	return append(list, item)
}

// answer tells what was said and told so far.
func (i *instrument) answer(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	data, err := json.Marshal(map[string]any{"polled": i.said["P"], "told": i.said["T"], "held": i.told})
	i.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, err = w.Write(data)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		fmt.Fprintln(i.out, "the answer was not taken:", err)
	}
}
