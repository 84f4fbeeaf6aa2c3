package frontendtest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/polygate/gateway"
)

// Run runs the suite, on each kind of world.
func Run(t *testing.T, start Start) {
	t.Run("scripted", func(t *testing.T) { RunIn(t, NewScripted, start) })
	t.Run("broker", func(t *testing.T) { RunIn(t, NewBroker, start) })
}

// RunIn runs the suite on one kind of world.
func RunIn(t *testing.T, newWorld func(testing.TB) *World, start Start) {
	for _, test := range []struct {
		name string
		run  func(s *scene)
	}{
		{"ListShowsWhatExists", listShowsWhatExists},
		{"ReadOfEachKind", readOfEachKind},
		{"ReadOfWhatWasNeverRead", readOfWhatWasNeverRead},
		{"ReadOfWhatDoesNotExist", readOfWhatDoesNotExist},
		{"ReadShowsAlarms", readShowsAlarms},
		{"WatchDeliversEveryChangeInOrder", watchDeliversEveryChange},
		{"WatchOfAPattern", watchOfAPattern},
		{"WatchesAreIndependent", watchesAreIndependent},
		{"ResumeWithoutAGap", resumeWithoutAGap},
		{"ResumeFromNowhereSaysGap", resumeFromNowhere},
		{"PutOfEachKind", putOfEachKind},
		{"PutIsReadBackAtOnce", putIsReadBackAtOnce},
		{"PutIsSeenByWatchers", putIsSeenByWatchers},
		{"PutThatIsRefused", putThatIsRefused},
		{"PutThatFailsLater", putThatFailsLater},
		{"PutThatIsSuperseded", putThatIsSuperseded},
		{"PutThatIsNeverAnswered", putThatIsNeverAnswered},
		{"PutWhileStopping", putWhileStopping},
		{"ExecuteACommand", executeACommand},
		{"DeviceLostAndBack", deviceLostAndBack},
		{"DriverLostAndRestarted", driverLostAndRestarted},
		{"SlowReaderGetsTheNewest", slowReaderGetsTheNewest},
		{"HotAddAndRemove", hotAddAndRemove},
		{"StopWhileWatching", stopWhileWatching},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(newScene(t, newWorld(t), start))
		})
	}
}

// A scene is one test with its world and its frontend.
type scene struct {
	*testing.T
	*World
	frontend *Frontend
	ctx      context.Context
	client   Client
	stop     func()
}

func newScene(t *testing.T, w *World, start Start) *scene {
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	t.Cleanup(cancel)
	s := &scene{T: t, World: w, ctx: ctx, frontend: start(t, w.View)}
	s.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Limit)
		defer cancel()
		if err := s.frontend.Stop(ctx); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	t.Cleanup(s.stop)
	s.client = s.dial()
	return s
}

func (s *scene) dial() Client {
	c := s.frontend.Dial(s.T)
	s.Cleanup(func() {
		if err := c.Close(); err != nil {
			s.Errorf("Close: %v", err)
		}
	})
	return c
}

func (s *scene) get(path string) Reading {
	s.Helper()
	r, err := s.client.Get(s.ctx, path)
	if err != nil {
		s.Fatalf("Get(%s): %v", path, err)
	}
	return r
}

func (s *scene) put(path, value string) {
	s.Helper()
	if err := s.client.Put(s.ctx, Put{Path: path, Value: value}); err != nil {
		s.Fatalf("Put(%s, %s): %v", path, value, err)
	}
}

// wantFailure checks that err is what the protocol calls kind.
func (s *scene) wantFailure(err error, kind gateway.ErrorKind) {
	s.Helper()
	want := s.client.Code(kind)
	var f *ProtocolError
	if !errors.As(err, &f) {
		s.Errorf("got %v, want a failure %q for %v", err, want, kind)
		return
	}
	if f.Code != want {
		s.Errorf("got the failure %v, want %q for %v", f, want, kind)
	}
}

func (s *scene) watch(path string) *watcher {
	s.Helper()
	w, err := s.client.Watch(s.ctx, path)
	return s.watcher(path, w, err)
}

func (s *scene) watcher(path string, w Watch, err error) *watcher {
	s.Helper()
	if err != nil {
		s.Fatalf("watching %s: %v", path, err)
	}
	x := &watcher{scene: s, watch: w}
	x.close = sync.OnceFunc(func() { _ = w.Close() }) // after Stop it may well say that it was closed
	s.Cleanup(x.close)
	return x
}

// A watcher reads events in the test's own pace.
type watcher struct {
	*scene
	watch Watch
	close func()
}

func (w *watcher) next() Event {
	w.Helper()
	e, err := w.watch.Next(w.ctx)
	if err != nil {
		w.Fatalf("Next: %v", err)
	}
	return e
}

// until reads events until one fits, and returns all of them.
func (w *watcher) until(what string, fits func(Event) bool) []Event {
	w.Helper()
	var events []Event
	for {
		e, err := w.watch.Next(w.ctx)
		if err != nil {
			w.Fatalf("waiting for %s: %v; got %+v", what, err, events)
		}
		events = append(events, e)
		if fits(e) {
			return events
		}
	}
}

// untilValue reads events until one shows a value in a role.
func (w *watcher) untilValue(role gateway.Role, value string) []Event {
	w.Helper()
	return w.until(role.String()+" "+value, func(e Event) bool {
		return !e.Removed && !e.Gap && e.Role == role && sameJSON(e.Sample.Value, value)
	})
}

// untilSeverity reads events until one shows a severity.
func (w *watcher) untilSeverity(severity string) []Event {
	w.Helper()
	return w.until(severity, func(e Event) bool { return e.Sample.Severity == severity })
}

// sameJSON compares JSON values, numbers as exact decimal text where they are
// integers and as float64 otherwise.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}

func (s *scene) wantSample(path string, got *Sample, want *gateway.Sample, json string) {
	s.Helper()
	switch {
	case got == nil:
		s.Errorf("%s: nothing is shown, want %s", path, json)
	case !sameJSON(got.Value, json):
		s.Errorf("%s is %s, want %s", path, got.Value, json)
	case !got.Time.Equal(want.Time.Std()):
		s.Errorf("%s has the time %v, want %v", path, got.Time, want.Time)
	case got.Severity != want.Alarm.Severity.String() || got.Status != want.Alarm.Status.String():
		s.Errorf("%s has the alarm %s %s, want %+v", path, got.Severity, got.Status, want.Alarm)
	case got.Seq != 0 && got.Seq != want.Seq:
		s.Errorf("%s has seq %d, want %d", path, got.Seq, want.Seq)
	}
}

func values(events []Event, role gateway.Role) []string {
	var list []string
	for _, e := range events {
		if e.Role == role {
			list = append(list, e.Sample.Value)
		}
	}
	return list
}

func contains(list []string, want ...string) bool {
	for _, w := range want {
		if !slices.Contains(list, w) {
			return false
		}
	}
	return true
}
