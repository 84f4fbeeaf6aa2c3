package device

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/polygate/gateway"
)

// deaf is a bus that nobody listens to.
type deaf struct{}

func (deaf) Announce(*gateway.Announcement) error       { return nil }
func (deaf) Update(*gateway.Update) error               { return nil }
func (deaf) State(*gateway.DeviceState) error           { return nil }
func (deaf) Own(gateway.Owner, Handler) (func(), error) { return func() {}, nil }

// counting is a driver of n counters in one poll.
type counting struct {
	Driver
	n int
	v float64
}

func (c *counting) Model() Model {
	m := Model{Polls: []Poll{{Period: time.Second}}}
	for i := range c.n {
		m.Attributes = append(m.Attributes, gateway.Descriptor{Path: gateway.Path(fmt.Sprintf("d.c%05d", i)), Traits: &gateway.Traits{Access: gateway.AccessReadWrite, Type: gateway.Type{Kind: gateway.Float64}}})
		m.Polls[0].Indices = append(m.Polls[0].Indices, i)
	}
	return m
}

func (c *counting) Poll(_ context.Context, _ int, into []Reading) ([]Reading, error) {
	c.v++
	now := time.Now()
	for i := range c.n {
		into = append(into, Reading{Index: i, Role: gateway.Readback, Value: gateway.Of(c.v), Time: now})
	}
	return into, nil
}

func (c *counting) Put(_ context.Context, index int, v gateway.Value) Outcome {
	return Outcome{Stage: gateway.StageVerified, Readings: []Reading{{Index: index, Role: gateway.Readback, Value: v, Time: time.Now()}}}
}

// working returns a worker that is connected, without its goroutines.
func working(b *testing.B, n int) *worker {
	b.Helper()
	s, err := New("d", &counting{n: n}, deaf{}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.begin(0, func() {}, func() {}); err != nil {
		b.Fatal(err)
	}
	s.quiet.reset(len(s.polls))
	s.linkUp = true
	w := &worker{Supervisor: s, putCtx: b.Context(), schedule: newSchedule(s.model.Polls)}
	w.schedule.reset(time.Now())
	return w
}

// BenchmarkPoll is one exchange, from the driver's readings to the update that
// the bus gets.
func BenchmarkPoll(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := working(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if err := w.runPoll(b.Context(), 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/reading")
		})
	}
}

// BenchmarkPut is one put, from the bus's call to the answer, without the way
// between the goroutines.
func BenchmarkPut(b *testing.B) {
	w := working(b, 1)
	w.connected = true
	answers := 0
	put := &gateway.Put{To: w.owner, PutRequest: gateway.PutRequest{Path: "d.c00000", Value: gateway.Of(1.0)}}
	b.ReportAllocs()
	for b.Loop() {
		w.acceptPut(put, func(*gateway.PutVerdict) { answers++ })
		p, err := w.nextPut(false)
		if err != nil {
			b.Fatal(err)
		}
		if err := w.runPut(w.putCtx, p); err != nil {
			b.Fatal(err)
		}
	}
	if answers != b.N {
		b.Fatalf("%d answers to %d puts", answers, b.N)
	}
}
