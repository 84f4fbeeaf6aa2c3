package frontendtest_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/frontendtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSuiteOnTheViewItself runs the suite against the thinnest frontend that
// there can be: none. What fails here is a fault of the hub or of the suite.
func TestSuiteOnTheViewItself(t *testing.T) {
	frontendtest.Run(t, func(_ testing.TB, view gateway.View) *frontendtest.Frontend {
		f := &direct{view: view, stopped: make(chan struct{}), open: map[gateway.Stream]bool{}}
		return &frontendtest.Frontend{
			Protocol: "direct",
			Dial: func(testing.TB) frontendtest.Client {
				return &directClient{frontend: f, session: view.For(gateway.Caller{Protocol: "direct"})}
			},
			Stop: f.stop,
		}
	})
}

// direct is a frontend without a protocol.
type direct struct {
	view    gateway.View
	stopped chan struct{}

	mu   sync.Mutex
	open map[gateway.Stream]bool
}

func (f *direct) stop(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.stopped)
	for s := range f.open {
		s.Close()
	}
	return nil
}

type directClient struct {
	frontend *direct
	session  gateway.Session
}

var (
	_ frontendtest.Client         = (*directClient)(nil)
	_ frontendtest.Lister         = (*directClient)(nil)
	_ frontendtest.PatternWatcher = (*directClient)(nil)
	_ frontendtest.Resumer        = (*directClient)(nil)
)

func (c *directClient) Close() error { return nil }

func (c *directClient) Code(kind gateway.ErrorKind) string { return kind.String() }

func failure(err error) error {
	if err == nil {
		return nil
	}
	return &frontendtest.ProtocolError{Code: gateway.KindOf(err).String(), Words: err.Error()}
}

func (c *directClient) Get(_ context.Context, path string) (frontendtest.Reading, error) {
	a, err := c.session.Get(gateway.Path(path))
	if err != nil {
		return frontendtest.Reading{}, failure(err)
	}
	return frontendtest.Reading{Readback: sampleOf(a, gateway.Readback), Setpoint: sampleOf(a, gateway.Setpoint)}, nil
}

func sampleOf(a *gateway.Attribute, role gateway.Role) *frontendtest.Sample {
	s := a.Sample(role)
	if s == nil {
		return nil
	}
	alarm := a.EffectiveAlarm(role)
	return &frontendtest.Sample{
		Value: string(a.AppendJSON(nil, s.Value, gateway.JSONOptions{})), Time: s.Time.Std(),
		Severity: alarm.Severity.String(), Status: alarm.Status.String(), Seq: s.Seq,
	}
}

func (c *directClient) Put(ctx context.Context, put frontendtest.Put) error {
	r := gateway.PutRequest{Path: gateway.Path(put.Path), Mode: put.Mode, Budget: put.Budget}
	a, err := c.session.Get(r.Path)
	if err != nil {
		return failure(err)
	}
	if a.CanWrite() {
		if r.Value, err = a.ParseJSON([]byte(put.Value)); err != nil {
			return failure(err)
		}
	}
	return c.wait(ctx)(c.session.Put(r))
}

func (c *directClient) Execute(ctx context.Context, path string) error {
	return c.wait(ctx)(c.session.Execute(gateway.PutRequest{Path: gateway.Path(path)}))
}

func (c *directClient) wait(ctx context.Context) func(gateway.Pending, error) error {
	return func(p gateway.Pending, err error) error {
		if err != nil {
			return failure(err)
		}
		if v := gateway.Wait(ctx, p); v.Err != nil {
			return failure(v.Err)
		}
		return nil
	}
}

func (c *directClient) List(_ context.Context, match string) ([]string, error) {
	pattern, err := gateway.ParsePattern(match)
	if err != nil {
		return nil, failure(err)
	}
	page, _ := c.session.List(pattern, "", 0)
	var names []string
	for _, a := range page {
		names = append(names, string(a.Path))
	}
	return names, nil
}

func (c *directClient) Watch(_ context.Context, path string) (frontendtest.Watch, error) {
	return c.watch(gateway.WatchOptions{Match: gateway.PatternOf(gateway.Path(path))})
}

func (c *directClient) WatchPattern(_ context.Context, match string) (frontendtest.Watch, error) {
	pattern, err := gateway.ParsePattern(match)
	if err != nil {
		return nil, failure(err)
	}
	return c.watch(gateway.WatchOptions{Match: pattern})
}

func (c *directClient) Resume(_ context.Context, path, cursor string) (frontendtest.Watch, error) {
	at, err := gateway.ParseCursor(cursor)
	if err != nil {
		return nil, failure(err)
	}
	return c.watch(gateway.WatchOptions{Match: gateway.PatternOf(gateway.Path(path)), Cursor: at})
}

func (c *directClient) watch(o gateway.WatchOptions) (frontendtest.Watch, error) {
	s := c.session.Open(gateway.StreamOptions{})
	c.frontend.mu.Lock()
	c.frontend.open[s] = true
	c.frontend.mu.Unlock()
	if _, err := s.Watch(o); err != nil {
		s.Close()
		return nil, failure(err)
	}
	return &directWatch{frontend: c.frontend, stream: s}, nil
}

type directWatch struct {
	frontend *direct
	stream   gateway.Stream
	queued   []frontendtest.Event
}

func (w *directWatch) Close() error {
	w.stream.Close()
	return nil
}

func (w *directWatch) Next(ctx context.Context) (frontendtest.Event, error) {
	for len(w.queued) == 0 {
		for _, e := range w.stream.Take(nil) {
			w.queue(&e)
		}
		if len(w.queued) > 0 {
			break
		}
		select {
		case <-w.stream.Ready():
		case <-w.frontend.stopped:
			return frontendtest.Event{}, errors.New("stopped")
		case <-ctx.Done():
			return frontendtest.Event{}, ctx.Err()
		}
	}
	e := w.queued[0]
	w.queued = w.queued[1:]
	return e, nil
}

func (w *directWatch) queue(e *gateway.Event) {
	switch e.Type {
	case gateway.EventGap:
		w.queued = append(w.queued, frontendtest.Event{Gap: true})
	case gateway.EventRemoved:
		w.queued = append(w.queued, frontendtest.Event{Path: string(e.Attribute.Path), Removed: true, Cursor: e.Cursor.String()})
	case gateway.EventSample:
		w.sample(e, e.Role)
	case gateway.EventAdded, gateway.EventAvailability:
		w.sample(e, gateway.Readback)
		w.sample(e, gateway.Setpoint)
	}
}

func (w *directWatch) sample(e *gateway.Event, role gateway.Role) {
	if s := sampleOf(e.Attribute, role); s != nil {
		w.queued = append(w.queued, frontendtest.Event{
			Path: string(e.Attribute.Path), Role: role, Sample: *s, Cursor: e.Cursor.String(),
		})
	}
}
