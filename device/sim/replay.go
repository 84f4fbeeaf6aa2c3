package sim

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"github.com/polygate/gateway/device/link"
)

// A Replay answers as an instrument did whose bytes were saved. To each request
// it gives the replies in the order in which they came, and after the last the
// first again; what came before the first request is left out, and so is time.
type Replay struct {
	replies map[string][]string // by request
	given   map[string]int
}

var (
	_ Instrument = (*Replay)(nil)
	_ cutter     = (*Replay)(nil)
)

// NewReplay replays a trace.
func NewReplay(trace []link.Piece) (*Replay, error) {
	r := &Replay{replies: map[string][]string{}, given: map[string]int{}}
	request, begun := "", false
	for _, p := range trace {
		switch {
		case p.Direction == link.Out:
			request, begun = string(p.Bytes), true
			r.replies[request] = append(r.replies[request], "")
		case begun:
			list := r.replies[request]
			list[len(list)-1] += string(p.Bytes)
		}
	}
	if !begun {
		return nil, fmt.Errorf("the trace has no request")
	}
	return r, nil
}

// NewReplayOpener returns the address of the instrument whose trace is in a file.
func NewReplayOpener(name string) (*Opener, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	trace, err := link.ParseTrace(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r, err := NewReplay(trace)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return NewServerOpener("replay of "+name, &Server{Instrument: r, Now: time.Now}), nil
}

// Handle gives the next reply to a request.
func (r *Replay) Handle(_ time.Time, request string) (reply string, ok bool) {
	list := r.replies[request]
	if len(list) == 0 {
		return "", false
	}
	reply = list[r.given[request]%len(list)]
	r.given[request]++
	return reply, reply != ""
}

// cut finds the longest request that buf begins with.
func (r *Replay) cut(buf []byte) (n int, drop bool) {
	more := false
	for request := range r.replies {
		if bytes.HasPrefix(buf, []byte(request)) {
			n = max(n, len(request))
		}
		more = more || len(request) > len(buf) && bytes.HasPrefix([]byte(request), buf)
	}
	return n, n == 0 && !more
}
