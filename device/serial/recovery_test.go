package serial_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polygate/gateway/device/serial"
)

// numbers configures a device with an attribute for each letter. Only p and q say
// what they are.
func numbers(address, letters string) string {
	config := "attributes:\n"
	for _, name := range letters {
		lead := ""
		if name >= 'p' {
			lead = string(name) + "="
		}
		config += fmt.Sprintf("  %c: {kind: int64, read: \"%s%c?\", reply: \"%s%%d\", poll: 1s}\n", name, address, name, lead)
	}
	return config
}

// losing is a bus whose nth reply is lost, where all others come after 20 ms. It
// says when it was asked for that.
func losing(n int32) (bus *slowBus, lostAt *atomic.Pointer[time.Time]) {
	var asked atomic.Int32
	lostAt = new(atomic.Pointer[time.Time])
	return &slowBus{takes: func(*rand.Rand, string) time.Duration {
		if asked.Add(1) == n {
			now := time.Now()
			lostAt.Store(&now)
			return never
		}
		return 20 * time.Millisecond
	}}, lostAt
}

// After a fault all is well within 2 s where nothing else is set: an instrument
// that answers quickly has lost a reply, and every poll is good again.
func TestAllIsWellSoonAfterAReplyWasLost(t *testing.T) {
	for _, test := range []struct {
		name, letters string
		lost          int32 // the how manieth reply
		within        time.Duration
	}{
		{"bare numbers", "ab", 20, 2 * time.Second},
		// How long it takes to answer is not known then.
		{"bare numbers, and it was the first", "ab", 1, 4 * time.Second},
		{"numbers that say what they are", "pq", 20, 1500 * time.Millisecond},
		{"a bare number beside one that says what it is", "ap", 20, 2 * time.Second},
		{"a number that says what it is beside a bare one", "ap", 21, 2 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			bus, lostAt := losing(test.lost)
			withDevices(t, bus, func(ctx context.Context, devices []*serial.Driver) {
				polls := len(test.letters)
				for poll, good := 0, 0; lostAt.Load() == nil || good < polls; poll = (poll + 1) % polls {
					if good++; !isGood(ctx, t, devices[0], poll) {
						good = 0
					}
				}
				if took := time.Since(*lostAt.Load()); took > test.within {
					t.Errorf("it took %v, more than %v", took, test.within)
				}
			}, numbers("0", test.letters))
		})
	}
}

// An instrument whose replies all say what they are owes nothing any more when it
// has answered something else: the others on its line do not wait for it.
func TestWhoSaysWhatItAnswersIsSoonNoDebtor(t *testing.T) {
	bus, lostAt := losing(20)
	withDevices(t, bus, func(ctx context.Context, devices []*serial.Driver) {
		for n := 0; lostAt.Load() == nil; n++ {
			isGood(ctx, t, devices[0], n%2)
			if !isGood(ctx, t, devices[1], 0) {
				t.Fatal("the wrong reply was lost")
			}
		}
		for time.Since(*lostAt.Load()) < 2*time.Second {
			isGood(ctx, t, devices[0], 1)
		}
		asked := time.Now()
		if !isGood(ctx, t, devices[1], 0) {
			t.Error("the other one is not read")
		}
		if took := time.Since(asked); took > 30*time.Millisecond {
			t.Errorf("the other one waits: its reply took %v", took)
		}
	}, numbers("0", "pq"), numbers("1", "a"))
}

// An instrument hangs and then catches up slowly, with pauses that are longer than
// the quiet time. What it says late does not come when it was asked for something
// else, so it is not taken for the only answer.
func TestALineThatComesAtAnUnusualTimeProvesNothing(t *testing.T) {
	slow := []time.Duration{1400 * time.Millisecond, 300 * time.Millisecond, 300 * time.Millisecond}
	asked := 0
	bus := &slowBus{takes: func(*rand.Rand, string) time.Duration {
		if asked++; asked > 20 && len(slow) > 0 {
			takes := slow[0]
			slow = slow[1:]
			return takes
		}
		return 20 * time.Millisecond
	}}
	withDevices(t, bus, func(ctx context.Context, devices []*serial.Driver) {
		for n := range 30 {
			readings, err := devices[0].Poll(ctx, n%2, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r := &readings[0]; !r.Failed() && bus.answers(r.Value.Int()) != fmt.Sprintf("0%c?", 'a'+n%2) {
				t.Errorf("poll %d was told %s", n, bus.answers(r.Value.Int()))
			}
		}
	}, numbers("0", "ab"))
}

func isGood(ctx context.Context, t *testing.T, d *serial.Driver, poll int) bool {
	readings, err := d.Poll(ctx, poll, nil)
	if err != nil {
		t.Fatal(err)
	}
	return !readings[0].Failed()
}
