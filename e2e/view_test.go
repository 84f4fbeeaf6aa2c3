package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"

	"github.com/polygate/gateway/e2e/client"
)

// clients is a box in which clients run.
type clients struct{ *box }

const controlPort = "9000/tcp"

func (w *world) clients(name string, options ...testcontainers.ContainerCustomizer) *clients {
	w.t.Helper()
	return &clients{w.start(name, "client", "ready", append(options, w.publish(controlPort))...)}
}

// tryPut has a client put a number. An error is about the connection.
func (c *clients) tryPut(ctx context.Context, protocol, host, name string, value int64) (client.Verdict, error) {
	var verdict client.Verdict
	q := url.Values{"protocol": {protocol}, "host": {host}, "name": {name}, "value": {fmt.Sprint(value)}}
	response, err := c.ask(ctx, http.MethodPost, controlPort, "/put?"+q.Encode())
	if err != nil {
		return verdict, err
	}
	defer response.Body.Close()
	return verdict, json.NewDecoder(response.Body).Decode(&verdict)
}

// put is tryPut where the connection must work.
func (c *clients) put(protocol, host, name string, value int64) client.Verdict {
	c.w.t.Helper()
	ctx, cancel := context.WithTimeout(c.w.t.Context(), limit)
	defer cancel()
	verdict, err := c.tryPut(ctx, protocol, host, name, value)
	c.must("putting from", err)
	return verdict
}

// A view is what one client sees: all of it, in order.
type view struct {
	t        *testing.T
	protocol string
	stop     func() // ends it before the test does

	mu      sync.Mutex
	events  []client.Event
	ended   error // why nothing more comes
	endedAt time.Time
	more    chan struct{} // closed and replaced at each event
}

// watch has a client watch, until the test ends.
func (c *clients) watch(protocol, host string, names ...string) *view {
	c.w.t.Helper()
	return c.watchOnly("", protocol, host, names...)
}

// watchOnly is watch, but of all names the client tells of one only.
func (c *clients) watchOnly(only, protocol, host string, names ...string) *view {
	t := c.w.t
	t.Helper()
	v := &view{t: t, protocol: protocol, more: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	response, err := c.ask(ctx, http.MethodGet, controlPort, "/watch?"+url.Values{"protocol": {protocol}, "host": {host}, "name": names, "only": {only}}.Encode())
	if err != nil {
		cancel()
		t.Fatalf("%s: %v", protocol, err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			var e client.Event
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				v.end(err)
				return
			}
			v.add(e)
		}
		v.end(fmt.Errorf("the client's box: %w", lines.Err()))
	})
	v.stop = func() {
		cancel()
		reading.Wait()
	}
	t.Cleanup(v.stop)
	return v
}

// watchAll watches by all protocols.
func (c *clients) watchAll(host string, names ...string) []*view {
	c.w.t.Helper()
	var views []*view
	for _, protocol := range client.Protocols() {
		views = append(views, c.watch(protocol, host, names...))
	}
	return views
}

func (v *view) add(e client.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.events = append(v.events, e)
	close(v.more)
	v.more = make(chan struct{})
}

func (v *view) end(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended, v.endedAt = err, time.Now()
	close(v.more)
	v.more = make(chan struct{})
}

// seen returns the events so far, which stay as they are.
func (v *view) seen() []client.Event {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.events[:len(v.events):len(v.events)]
}

// state returns what the client shows now of a role of an attribute, nil if it
// is cut off or has not been told yet.
func (v *view) state(name, role string) (now *client.Event, more <-chan struct{}, ended error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := len(v.events) - 1; i >= 0; i-- {
		e := &v.events[i]
		if e.Kind == client.Up || e.Kind == client.Down {
			break
		}
		if e.Kind == client.Shown && e.Name == name && e.Role == role {
			return e, v.more, v.ended
		}
	}
	return nil, v.more, v.ended
}

// await waits until the client shows what fits, which nil never does.
func (v *view) await(name, role, what string, fits func(*client.Event) bool) client.Event {
	v.t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		now, more, ended := v.state(name, role)
		if now != nil && fits(now) {
			return *now
		}
		if ended != nil {
			v.t.Fatalf("%s: %v", v.protocol, ended)
		}
		select {
		case <-more:
		case <-deadline.C:
			v.t.Fatalf("%s never shows %s as %s; the last it saw:%s", v.protocol, name, what, v.last(12))
		}
	}
}

// awaitDown waits until the client knows that it is cut off.
func (v *view) awaitDown(from int) {
	v.t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		v.mu.Lock()
		more, rest := v.more, v.events[from:]
		v.mu.Unlock()
		for i := range rest {
			if rest[i].Kind == client.Down {
				return
			}
		}
		select {
		case <-more:
		case <-deadline.C:
			v.t.Fatalf("%s does not know that it is cut off; the last it saw:%s", v.protocol, v.last(12))
		}
	}
}

// last is the end of what was seen, for messages.
func (v *view) last(n int) string {
	seen := v.seen()
	text := ""
	for _, e := range seen[max(0, len(seen)-n):] {
		text += fmt.Sprintf("\n  %s %v", time.UnixMicro(e.At).UTC().Format("15:04:05.000"), &e)
	}
	return text
}

// bad wants one that says by itself that it is not to be trusted.
func bad(e *client.Event) bool { return !e.Good() }

// holds wants a good value.
func holds(value int64) func(*client.Event) bool {
	return func(e *client.Event) bool { return e.Good() && *e.Value == float64(value) }
}

// later wants a good reading of the instrument's clock from after a moment.
func later(than time.Time) func(*client.Event) bool {
	return func(e *client.Event) bool { return e.Good() && *e.Value > float64(than.UnixMicro()) }
}
