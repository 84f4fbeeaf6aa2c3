package hub_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	readOnly  = gateway.AccessRead
	readWrite = gateway.AccessReadWrite
)

// A world is a hub that runs on a scripted bus, on a clock of its own.
type world struct {
	*testing.T
	bus  *hubtest.Bus
	hub  *hub.Hub
	view gateway.Session
	stop context.CancelFunc
}

// inWorld runs test with a hub whose device "oven" has the attributes
// oven.actual (r), oven.ramp (rw) and the command oven.cancel.
func inWorld(t *testing.T, opts hub.Options, test func(w *world, oven *hubtest.Device)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, opts)
		test(w, hubtest.NewDevice(w.bus, "oven", ovenDescriptors()...))
	})
}

func newWorld(t *testing.T, opts hub.Options) *world { return runWorld(t, hubtest.NewBus(), opts) }

func runWorld(t *testing.T, bus *hubtest.Bus, opts hub.Options) *world {
	h := hub.New(bus, opts)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &world{T: t, bus: bus, hub: h, view: h.For(gateway.Caller{Protocol: "test"}), stop: cancel}
}

func ovenDescriptors() []*gateway.Descriptor {
	return []*gateway.Descriptor{
		hubtest.Float("oven.actual", readOnly),
		hubtest.Float("oven.ramp", readWrite),
		hubtest.Command("oven.cancel"),
	}
}

// get returns an attribute after everything that was said has been handled.
func (w *world) get(path gateway.Path) *gateway.Attribute {
	w.Helper()
	synctest.Wait()
	a, err := w.view.Get(path)
	if err != nil {
		w.Fatalf("Get(%s): %v", path, err)
	}
	return a
}

func (w *world) wantValue(path gateway.Path, want float64) {
	w.Helper()
	if got := w.get(path).Readback.Value; !got.Equal(gateway.Of(want)) {
		w.Errorf("%s = %v, want %v", path, got.Float(), want)
	}
}

func (w *world) wantAvailability(path gateway.Path, want gateway.Availability) {
	w.Helper()
	if got := w.get(path).Availability; got != want {
		w.Errorf("%s is %v, want %v", path, got, want)
	}
}

func (w *world) watch(opts gateway.StreamOptions, watch gateway.WatchOptions) (gateway.Stream, gateway.WatchID) {
	w.Helper()
	synctest.Wait()
	s := w.view.Open(opts)
	w.Cleanup(s.Close)
	id, err := s.Watch(watch)
	if err != nil {
		w.Fatalf("Watch: %v", err)
	}
	return s, id
}

// pass lets time go by: in a synctest bubble that is at once.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // it waits for nothing, it moves the bubble's clock.
}

// take returns what is queued after everything that was said has been handled.
func take(s gateway.Stream) []gateway.Event {
	synctest.Wait()
	return s.Take(nil)
}

// describe writes events as "added oven.actual, synced, sample oven.actual 3".
func describe(events []gateway.Event) string {
	var words []string
	for i := range events {
		e := &events[i]
		word := e.Type.String()
		if e.Attribute != nil {
			word += " " + string(e.Attribute.Path)
		}
		switch e.Type {
		case gateway.EventSample:
			if e.Role == gateway.Setpoint {
				word += " setpoint"
			}
			word += fmt.Sprintf(" %v", e.Sample().Value.Float())
			if e.Lost > 0 {
				word += fmt.Sprintf(" lost %d", e.Lost)
			}
		case gateway.EventAvailability:
			word += " " + e.Attribute.Availability.String()
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func wantEvents(t *testing.T, s gateway.Stream, want string) []gateway.Event {
	t.Helper()
	events := take(s)
	if got := describe(events); got != want {
		t.Errorf("events:\n got %s\nwant %s", got, want)
	}
	return events
}

func pattern(t *testing.T, text string) gateway.Pattern {
	t.Helper()
	p, err := gateway.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func all() gateway.WatchOptions { return gateway.WatchOptions{Match: gateway.MatchAll} }

func wantKind(t *testing.T, err error, want gateway.ErrorKind) {
	t.Helper()
	if got := gateway.KindOf(err); got != want {
		t.Errorf("error %v has kind %v, want %v", err, got, want)
	}
}
