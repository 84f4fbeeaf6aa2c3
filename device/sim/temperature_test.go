package sim_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/device/sim"
)

// A bench is a temperature controller and a clock.
type bench struct {
	t   *testing.T
	c   *sim.TemperatureController
	now time.Time
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, c: sim.NewTemperatureController(1), now: time.Unix(1_700_000_000, 0)}
}

func (b *bench) ask(line string) string {
	b.t.Helper()
	reply, ok := b.c.Handle(b.now, line)
	if !ok {
		return "(nothing)"
	}
	return reply
}

func (b *bench) number(line string) float64 {
	b.t.Helper()
	f, err := strconv.ParseFloat(b.ask(line), 64)
	if err != nil {
		b.t.Fatal(err)
	}
	return f
}

func TestLanguage(t *testing.T) {
	b := newBench(t)
	for _, step := range []struct{ line, want string }{
		{"ID?", sim.Identity},
		{"R?", "1"},
		{"R=1.5", "(nothing)"},
		{"R?", "1.5"},
		{"R=-1", "(nothing)"},
		{"R=x", "(nothing)"},
		{"R?", "1.5"},
		{"S01?", "10"},
		{"S01=12", "(nothing)"},
		{"S01?", "12"},
		{"S02?", "10"},
		{"S01=1000", "(nothing)"},
		{"S01=1.5", "(nothing)"},
		{"S01?", "12"},
		{"E04=77", "(nothing)"},
		{"E04?", "77"},
		{"N01?", "0"},
		{"N01=2", "(nothing)"},
		{"N01?", "0"},
		{"N01=1", "(nothing)"},
		{"N01?", "1"},
		{"T01?", "12.000"},
		{"P?", "0.500"},
		{"V?", "[-2.000, 0.000, 0.000, 0.000]"},
		{"N01=0", "(nothing)"},
		{"P?", "0.000"},
		{"S05?", "(nothing)"},
		{"S00?", "(nothing)"},
		{"X?", "(nothing)"},
		{"", "(nothing)"},
		{"?", "(nothing)"},
		{"=", "(nothing)"},
	} {
		if got := b.ask(step.line); got != step.want {
			t.Errorf("%q: got %q, want %q", step.line, got, step.want)
		}
	}
}

func TestRampMovesFromStartToEnd(t *testing.T) {
	b := newBench(t)
	for _, line := range []string{"R=2", "S01=20", "E01=40", "N01=1"} {
		b.ask(line)
	}
	for second := range 15 {
		want := min(20+2*float64(second), 40)
		if got := b.number("T01?"); math.Abs(got-want) > 1e-9 {
			t.Errorf("after %d s the target is %v, want %v", second, got, want)
		}
		actual := b.number("A01?")
		if second > 3 && second < 10 && math.Abs(actual-(want-1)) > 0.1 {
			t.Errorf("after %d s it is %v, want half a second behind %v", second, actual, want)
		}
		b.now = b.now.Add(time.Second)
	}
	if got := b.number("A01?"); math.Abs(got-40) > 0.1 {
		t.Errorf("in the end it is %v, want 40", got)
	}
	if got := b.ask("V?"); got != "[5.000, 0.000, 0.000, 0.000]" {
		t.Errorf("got %s", got)
	}
	b.ask("N01=0")
	b.now = b.now.Add(time.Minute)
	if got := b.number("A01?"); math.Abs(got-20) > 0.1 {
		t.Errorf("switched off it settles at %v, want the ambient 20", got)
	}
}

func TestHowOftenItIsAskedDoesNotMatter(t *testing.T) {
	often, seldom := newBench(t), newBench(t)
	for _, b := range []*bench{often, seldom} {
		b.ask("N02=1")
	}
	for range 1000 {
		often.now = often.now.Add(7 * time.Millisecond)
		often.ask("T02?")
	}
	seldom.now = often.now
	for _, line := range []string{"T02?", "V?", "P?", "A02?"} {
		if a, b := often.ask(line), seldom.ask(line); a != b {
			t.Errorf("%s: %s when asked often, %s when asked seldom", line, a, b)
		}
	}
}

func TestTimeThatRunsBackwardsStandsStill(t *testing.T) {
	b := newBench(t)
	b.ask("N01=1")
	b.now = b.now.Add(5 * time.Second)
	before := b.ask("T01?")
	b.now = b.now.Add(-time.Hour)
	if got := b.ask("T01?"); got != before {
		t.Errorf("got %s, want %s", got, before)
	}
}

func FuzzTemperatureController(f *testing.F) {
	for _, line := range []string{"ID?", "S01=10", "N01=1", "V?", "R=1e9", "R=NaN"} {
		f.Add(line, int64(time.Second))
	}
	f.Fuzz(func(t *testing.T, line string, step int64) {
		c := sim.NewTemperatureController(1)
		now := time.Unix(0, 0)
		for _, line := range []string{"N01=1", line, "V?", "A01?", "P?"} {
			reply, _ := c.Handle(now, line)
			if strings.Contains(reply, "NaN") || strings.Contains(reply, "Inf") {
				t.Errorf("%q is answered with %q", line, reply)
			}
			now = now.Add(time.Duration(step))
		}
	})
}
