package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/e2e/client"
)

// A showing is a time during which a client showed one good value.
type showing struct {
	value      float64
	from, till int64 // Unix microseconds
	event      *client.Event
}

// showings are all of them, of one role of an attribute, up to now or to the
// view's end.
func (v *view) showings(name, role string) []showing {
	var all []showing
	open := false
	end := func(at int64) {
		if open {
			all[len(all)-1].till = at
		}
		open = false
	}
	seen := v.seen()
	for i := range seen {
		e := &seen[i]
		switch {
		case e.Kind == client.Up || e.Kind == client.Down:
			end(e.At)
		case e.Kind == client.Shown && e.Name == name && e.Role == role:
			end(e.At)
			if open = e.Good(); open {
				all = append(all, showing{value: *e.Value, from: e.At, event: e})
			}
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	till := time.Now()
	if v.ended != nil {
		till = v.endedAt
	}
	end(till.UnixMicro())
	return all
}

func clockText(at int64) string { return time.UnixMicro(at).UTC().Format("15:04:05.000") }

// checkOrder checks that the instrument's clock never goes back for a client, and
// is never ahead.
func checkOrder(t *testing.T, v *view) {
	t.Helper()
	var last int64
	for _, s := range v.showings(polled, readback) {
		clock := int64(s.value)
		if clock > s.from {
			t.Errorf("%s: a value from the future: %v at %s", v.protocol, s.event, clockText(s.from))
		}
		if clock < last {
			t.Errorf("%s: went back from %s to %s at %s", v.protocol, clockText(last), clockText(clock), clockText(s.from))
		}
		last = clock
	}
}

// checkAge checks that the instrument's clock, which says itself how old it is,
// was never shown as good when it was older than the window.
func checkAge(t *testing.T, v *view, window time.Duration) {
	t.Helper()
	var oldest int64
	showings := v.showings(polled, readback)
	for _, s := range showings {
		clock := int64(s.value)
		if oldest = max(oldest, s.till-clock); s.till-clock > window.Microseconds() {
			t.Errorf("%s: what the instrument said at %s was shown as good from %s to %s", v.protocol, clockText(clock), clockText(s.from), clockText(s.till))
		}
	}
	t.Logf("%s: %d good values, shown until they were at most %v old", v.protocol, len(showings), time.Duration(oldest)*time.Microsecond)
}

// A heldLog is what the instrument held, and since when.
type heldLog []struct {
	value float64
	at    int64 // Unix microseconds
}

func readHeld(t *testing.T, instrument *box) heldLog {
	t.Helper()
	var log heldLog
	for line := range strings.Lines(instrument.said()) {
		var entry struct {
			value float64
			at    int64
		}
		if _, err := fmt.Sscanf(line, "held %f at %d", &entry.value, &entry.at); err == nil {
			log = append(log, entry)
		}
	}
	if len(log) == 0 {
		t.Fatal("the instrument has not said what it holds")
	}
	return log
}

// count tells how often the instrument was told a number.
func (l heldLog) count(value int64) int {
	n := 0
	for _, entry := range l {
		if entry.value == float64(value) {
			n++
		}
	}
	return n
}

// checkHeld checks that a number which is shown as good is one that the instrument
// holds, or held so shortly before that nobody could know better.
func checkHeld(t *testing.T, v *view, log heldLog, window time.Duration) {
	t.Helper()
	for _, s := range v.showings(held, readback) {
		right := false
		for i, entry := range log {
			if entry.value == s.value && entry.at <= s.from {
				right = right || i == len(log)-1 || log[i+1].at >= s.till-window.Microseconds()
			}
		}
		if !right {
			t.Errorf("%s: %v was shown as good from %s to %s, when the instrument did not hold it", v.protocol, s.event, clockText(s.from), clockText(s.till))
		}
	}
}

// complete checks that a client has seen what the instrument said: every value
// from its first to its last, in order, and as many as it should.
func complete(t *testing.T, way, protocol string, events []client.Event, count int, clocks []int64) {
	t.Helper()
	if len(events) != count {
		t.Fatalf("%s, %s: got %d samples, want %d", way, protocol, len(events), count)
	}
	first := slices.Index(clocks, int64(*events[0].Value))
	if first < 0 {
		t.Fatalf("%s, %s: the instrument never said %v", way, protocol, &events[0])
	}
	for i, e := range events {
		if !e.Good() || e.Lost != 0 || first+i >= len(clocks) || int64(*e.Value) != clocks[first+i] {
			t.Fatalf("%s, %s: sample %d is %v, lost %d; the instrument said %d", way, protocol, i, &e, e.Lost, clocks[min(first+i, len(clocks)-1)])
		}
		if i > 0 && protocol != client.CA && e.Seq != events[i-1].Seq+1 {
			t.Fatalf("%s, %s: sequence number %d follows %d", way, protocol, e.Seq, events[i-1].Seq)
		}
	}
}
