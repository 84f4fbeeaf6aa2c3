package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/bus/bustest"
	"github.com/polygate/gateway/bus/embedded"
)

func TestWhatADriverSaysReachesEveryHub(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{})
	driver := bustest.Connect(t, broker)
	hubs := []*ear{listen(t, driver), listen(t, bustest.Connect(t, broker))} // in its process, and in another
	state := &gateway.DeviceState{Owner: oven, Revision: 1, Connected: true, Words: "answers"}
	u := update(oven, gateway.Of(1.5), 3)
	must(t, driver.State(state))
	must(t, driver.Update(u))
	for _, hub := range hubs {
		if diff := cmp.Diff(state, next[*gateway.DeviceState](hub)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(u, next[*gateway.Update](hub)); diff != "" {
			t.Error(diff)
		}
		if m := hub.TryReceive(); m != nil {
			t.Errorf("%T too many", m)
		}
	}
}

func TestPrefixesKeepGatewaysApart(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{})
	one, other := bustest.Connect(t, broker), bustest.Dial(t, optionsWithPrefix(broker, "site.two"))
	hub := listen(t, one)
	must(t, other.Update(update(oven, gateway.Of(1.0), 1)))
	must(t, other.Close())
	must(t, one.Update(update(oven, gateway.Of(2.0), 2)))
	if got := next[*gateway.Update](hub).Samples[0].Sample.Seq; got != 2 {
		t.Errorf("got number %d", got)
	}
}

// announcement has n attributes with about size bytes of description each.
func announcement(n, size int) *gateway.Announcement {
	a := &gateway.Announcement{Owner: oven, Revision: 9, State: gateway.DeviceState{Connected: true}}
	for i := range n {
		a.Attributes = append(a.Attributes, gateway.Announced{
			Descriptor: &gateway.Descriptor{Path: gateway.Path(fmt.Sprintf("oven.a%d", i)), Revision: 9, Description: strings.Repeat("d", size), Traits: &gateway.Traits{Access: gateway.AccessRead, Type: gateway.Type{Kind: gateway.String, MaxLength: 1 << 20}}},
			Readback:   sample(gateway.Of("v"), uint64(i)),
		})
	}
	return a
}

// announced puts an announcement together from its pieces, as a hub does.
func announced(hub *ear) (paths []gateway.Path, samples []*gateway.Sample, pieces int) {
	hub.t.Helper()
	for {
		a := next[*gateway.Announcement](hub)
		if a.Piece != pieces || int(a.Offset) != len(paths) {
			hub.t.Fatalf("piece %d at %d, want %d at %d", a.Piece, a.Offset, pieces, len(paths))
		}
		for _, attribute := range a.Attributes {
			paths = append(paths, attribute.Descriptor.Path)
			samples = append(samples, attribute.Readback)
		}
		if pieces++; pieces == a.Pieces {
			return paths, samples, pieces
		}
	}
}

func TestAnnouncementsComeInPieces(t *testing.T) {
	conn := bustest.Connect(t, bustest.Broker(t, embedded.Options{MaxPayload: 4096}))
	hub := listen(t, conn)
	for _, n := range []int{0, 1, 2, 500} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			hub.t = t
			a := announcement(n, 300)
			must(t, conn.Announce(a))
			paths, _, pieces := announced(hub)
			if len(paths) != n {
				t.Errorf("%d attributes, want %d", len(paths), n)
			}
			if atLeast := n * 300 / 4096; pieces < atLeast {
				t.Errorf("%d pieces, want %d or more", pieces, atLeast)
			}
			for i, path := range paths {
				if path != a.Attributes[i].Descriptor.Path {
					t.Fatalf("attribute %d is %s", i, path)
				}
			}
		})
	}
}

func TestBUS04TooLargeHarmsOnlyItself(t *testing.T) {
	conn := bustest.Connect(t, bustest.Broker(t, embedded.Options{MaxPayload: 64 << 10}))
	hub := listen(t, conn)
	wave := gateway.ArrayOf(make([]float64, 300_000)) // 2.4 MB
	scalar := gateway.Of(1.5)
	u := &gateway.Update{Owner: oven, Revision: 1, Samples: []gateway.SampleUpdate{
		{Index: 0, Role: gateway.Readback, Sample: sample(scalar, 1)},
		{Index: 1, Role: gateway.Readback, Sample: sample(wave, 2)},
		{Index: 2, Role: gateway.Readback, Sample: sample(scalar, 3)},
	}}
	wantKind(t, conn.Update(u), gateway.KindTooLarge)
	got := next[*gateway.Update](hub)
	if len(got.Samples) != 3 {
		t.Fatalf("%d samples", len(got.Samples))
	}
	for _, i := range []int{0, 2} {
		if s := got.Samples[i].Sample; !s.Value.Equal(scalar) || s.Alarm != (gateway.Alarm{}) {
			t.Errorf("sample %d: %+v", i, s)
		}
	}
	if s := got.Samples[1].Sample; s.Value.Known() || s.Alarm.Severity != gateway.Invalid || s.Seq != 2 || s.Mask&gateway.MaskAlarm == 0 {
		t.Errorf("what stands for the waveform: %+v", s)
	}

	a := announcement(3, 10)
	a.Attributes[1].Readback = sample(gateway.Of(strings.Repeat("x", 100_000)), 1)
	wantKind(t, conn.Announce(a), gateway.KindTooLarge)
	if _, samples, _ := announced(hub); len(samples) != 3 || samples[0].Value.Text() != "v" || samples[1].Alarm.Severity != gateway.Invalid {
		t.Errorf("%+v", samples)
	}

	release := own(t, conn, oven, newRecorder())
	defer release()
	p := put(oven, 1)
	p.Value = wave
	wantKind(t, hub.SendPut(p), gateway.KindTooLarge)

	must(t, conn.Update(update(oven, scalar, 4)))
	next[*gateway.Update](hub)
	if stats := conn.Stats(); stats.Reconnects != 0 || stats.Malformed != 0 {
		t.Errorf("%+v", stats)
	}
}

func TestBUS04TheEmbeddedBrokerCarriesWaveforms(t *testing.T) {
	conn := bustest.New(t)
	hub := listen(t, conn)
	wave := make([]float64, 300_000)
	wave[299_999] = 42
	must(t, conn.Update(update(oven, gateway.ArrayOf(wave), 1)))
	if got := gateway.Elements[float64](next[*gateway.Update](hub).Samples[0].Sample.Value); len(got) != 300_000 || got[299_999] != 42 {
		t.Errorf("%d elements", len(got))
	}
}

func TestLargeUpdatesAreDivided(t *testing.T) {
	conn := bustest.Connect(t, bustest.Broker(t, embedded.Options{MaxPayload: 4096}))
	hub := listen(t, conn)
	u := &gateway.Update{Owner: oven, Revision: 1}
	for i := range 500 {
		u.Samples = append(u.Samples, gateway.SampleUpdate{
			Index: uint32(i), Role: gateway.Readback, Sample: sample(gateway.Of(strings.Repeat("x", i)), uint64(i)),
		})
	}
	must(t, conn.Update(u))
	for seen := 0; seen < len(u.Samples); {
		part := next[*gateway.Update](hub)
		for _, s := range part.Samples {
			if s.Index != uint32(seen) || len(s.Sample.Value.Text()) != seen {
				t.Fatalf("sample %d: %+v", seen, s)
			}
			seen++
		}
	}
}

func TestALargeVerdictComesWithoutItsSamples(t *testing.T) {
	conn := bustest.Connect(t, bustest.Broker(t, embedded.Options{MaxPayload: 4096}))
	hub := listen(t, conn)
	large := gateway.Of(strings.Repeat("x", 5000))
	tests := []struct {
		name string
		give gateway.Verdict
		want gateway.ErrorKind
	}{
		{"samples", gateway.Verdict{Stage: gateway.StageVerified, Readback: sample(large, 1), Result: gateway.Of("ok")}, gateway.KindOK},
		{"result", gateway.Verdict{Stage: gateway.StageVerified, Result: large}, gateway.KindTooLarge},
		{"bad text", gateway.Verdict{Stage: gateway.StageVerified, Result: gateway.Of("\xff")}, gateway.KindMalformed},
	}
	driver := newRecorder()
	verdicts := make(chan gateway.Verdict, 1)
	driver.onPut = func(_ *gateway.Put, answer func(*gateway.PutVerdict)) {
		answer(&gateway.PutVerdict{Owner: oven, Verdict: <-verdicts})
	}
	own(t, conn, oven, driver)
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			verdicts <- tt.give
			must(t, hub.SendPut(put(oven, uint64(i))))
			got := next[*gateway.PutVerdict](hub).Verdict
			if got.Stage != gateway.StageVerified || got.Readback != nil {
				t.Errorf("got %+v", got)
			}
			kind := gateway.KindOK
			if got.Err != nil {
				kind = got.Err.Kind
			}
			if kind != tt.want {
				t.Errorf("got %v", got.Err)
			}
		})
	}
}

func TestBadTextIsReplacedByAnAlarm(t *testing.T) {
	conn := bustest.New(t)
	hub := listen(t, conn)
	wantKind(t, conn.Update(update(oven, gateway.Of("K\xe4lte"), 1)), gateway.KindMalformed)
	if s := next[*gateway.Update](hub).Samples[0].Sample; s.Value.Known() || s.Alarm.Severity != gateway.Invalid {
		t.Errorf("%+v", s)
	}
}

func TestReceiveCanBeWokenAndEnded(t *testing.T) {
	conn := bustest.New(t)
	hub := listen(t, conn)
	wake := make(chan struct{}, 1)
	wake <- struct{}{}
	if m, err := hub.Receive(t.Context(), wake); m != nil || err != nil {
		t.Errorf("woken: %v, %v", m, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err := hub.Receive(ctx, wake); m != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v, %v", m, err)
	}
	hub.Close()
	if m, err := hub.Receive(t.Context(), wake); m != nil || !errors.Is(err, bus.ErrClosed) {
		t.Errorf("closed: %v, %v", m, err)
	}
}
