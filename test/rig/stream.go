//go:build unix

package rig

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Stream is an open stream of events (SSE). It ends with the test.
type Stream struct {
	g      *Gateway
	events chan Reply // closed at the end of the stream
	last   Reply
}

// Watch opens a stream of all that matches, and returns when the snapshot with
// which it begins was read.
func (g *Gateway) Watch(match string) *Stream {
	g.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.base+"/api/v1/stream?match="+url.QueryEscape(match), nil)
	if err != nil {
		g.t.Fatal(err)
	}
	response, err := g.client.Do(request) //nolint:bodyclose // read closes it.
	if err != nil {
		g.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		g.t.Fatalf("%s: the stream is refused: %s", g.name, response.Status)
	}
	s := &Stream{g: g, events: make(chan Reply, 4096)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.read(ctx, response)
	}()
	g.t.Cleanup(func() {
		cancel()
		<-read
	})
	s.Until(Limit, "synced", func(e *Reply) bool { return e.Event == "synced" })
	return s
}

func (s *Stream) read(ctx context.Context, response *http.Response) {
	defer close(s.events)
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		event := Reply{Body: data}
		if json.Unmarshal([]byte(data), &event) != nil {
			event.Event = "unreadable"
		}
		select {
		case s.events <- event:
		case <-ctx.Done():
			return
		}
	}
}

// Until takes events until one is as wanted, which it returns, and fails after
// a limit.
func (s *Stream) Until(limit time.Duration, what string, wanted func(*Reply) bool) Reply {
	s.g.t.Helper()
	end := time.After(limit)
	for {
		select {
		case event, ok := <-s.events:
			if !ok {
				s.g.t.Fatalf("%s: the stream ended before: %s", s.g.name, what)
			}
			s.last = event
			if wanted(&event) {
				return event
			}
		case <-end:
			s.g.t.Fatalf("%s: no event within %v: %s; the last was %s", s.g.name, limit, what, s.last.Body)
		}
	}
}

// Waiting returns the events that are there already.
func (s *Stream) Waiting() []Reply {
	var events []Reply
	for {
		select {
		case event, ok := <-s.events:
			if !ok {
				return events
			}
			events = append(events, event)
		default:
			return events
		}
	}
}
