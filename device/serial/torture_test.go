package serial_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/devicetest"
)

var (
	tortureTime = flag.Duration("torture", 3*time.Second, "how long TestTorture runs")
	tortureSeed = flag.Uint64("torture-seed", 1, "seed of TestTorture's faults")
)

// A witness remembers what the instrument said for each attribute, and which
// values it was told to take.
type witness struct {
	mu      sync.Mutex
	counter int
	said    map[string]bool
	taken   map[string]bool
}

// answer makes replies that are said only once: no two have the same number.
// A reply to X? is a bare number, one to Q? has a prefix, SET is acknowledged.
func (w *witness) answer(request string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counter++
	n := strconv.Itoa(w.counter)
	switch {
	case strings.HasPrefix(request, "B"):
		w.said[request[:2]+n] = true
		return n, true
	case strings.HasPrefix(request, "P"):
		w.said[request[:2]+n] = true
		return request[:2] + "=" + n, true
	case strings.HasPrefix(request, "SET "):
		w.taken[request[4:]] = true
		return "OK " + request[4:], true
	}
	return "", false
}

// TestTorture polls and puts while the instrument misbehaves at random, and
// proves from the instrument's memory that no value was published which it did
// not say for that attribute, and that no put was called done that it did not
// get.
func TestTorture(t *testing.T) {
	r := plugFor(t, *tortureTime+limit, `
terminator: "\r\n"
reply_timeout: 100ms
read_timeout: 40ms
quiet_time: 100ms
refusals: ["ERR %*d"]
attributes:
  b1: {kind: int64, read: "B1?", reply: "%d", poll: 1s}
  b2: {kind: int64, read: "B2?", reply: "%d", poll: 1s}
  p1: {kind: int64, read: "P1?", reply: "P1=%d", poll: 1s}
  p2: {kind: int64, read: "P2?", reply: "P2=%d", poll: 1s}
  set: {kind: int64, access: w, write: "SET %d", write_reply: "OK %=d"}
`)
	w := &witness{said: map[string]bool{}, taken: map[string]bool{}}
	r.instrument.Handle(w.answer)
	r.connect()
	random := rand.New(rand.NewPCG(*tortureSeed, 0))
	faulty, good, puts := 0, 0, 0
	for end := time.Now().Add(*tortureTime); time.Now().Before(end); {
		if random.IntN(4) == 0 {
			faulty++
			r.instrument.Spoil("", randomFault(random))
		}
		if random.IntN(5) == 0 {
			puts++
			torturePut(r, w, puts)
		} else {
			good += torturePoll(r, w, random.IntN(len(r.model.Polls)))
		}
	}
	t.Logf("%d good readings, %d puts, %d faults", good, puts, faulty)
	// When the faults stop, all is well: the last ones may cost a few exchanges.
	for range 3 {
		for i := range r.model.Polls {
			torturePoll(r, w, i)
		}
	}
	for i := range r.model.Polls {
		if torturePoll(r, w, i) != 1 {
			t.Errorf("poll %d is not well after the faults have stopped", i)
		}
	}
}

// randomFault spoils the next reply. A late one lets others overtake it, so it is
// late by less than twice the quiet time: beyond that nothing could tell bare
// numbers apart.
func randomFault(random *rand.Rand) devicetest.Fault {
	noise := make([]byte, random.IntN(6))
	for i := range noise {
		noise[i] = byte(random.IntN(256))
		if noise[i] >= '0' && noise[i] <= '9' || noise[i] == '-' || noise[i] == ' ' {
			noise[i] = '?' // A digit or a sign in front of a bare number makes another number.
		}
	}
	switch random.IntN(7) {
	case 0:
		return devicetest.Fault{Silent: true}
	case 1:
		return devicetest.Fault{Half: true}
	case 2:
		return devicetest.Fault{Behind: 1}
	case 3:
		return devicetest.Fault{Before: string(noise)}
	case 4:
		return devicetest.Fault{Raw: string(noise) + "\r\n"}
	case 5:
		return devicetest.Fault{Raw: "ERR 7\r\n"}
	}
	until := make(chan struct{})
	time.AfterFunc(time.Duration(random.IntN(150))*time.Millisecond, func() { close(until) })
	return devicetest.Fault{Until: until}
}

// torturePoll counts the good readings of a poll.
func torturePoll(r *rig, w *witness, poll int) (good int) {
	readings, err := r.driver.Poll(r.ctx, poll, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, x := range readings {
		if x.Failed() {
			continue
		}
		good++
		name := strings.ToUpper(r.model.Attributes[x.Index].Path.Attribute())
		w.mu.Lock()
		if key := fmt.Sprintf("%s%d", name, x.Value.Int()); !w.said[key] {
			r.t.Errorf("%s is published as %d, which the instrument never said for it", name, x.Value.Int())
		}
		w.mu.Unlock()
	}
	return good
}

func torturePut(r *rig, w *witness, n int) {
	o := r.putContext(r.ctx, "set", strconv.Itoa(n))
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.taken[strconv.Itoa(n)]
	switch {
	case o.Err == nil && !taken:
		r.t.Errorf("put %d is called done, and the instrument never got it", n)
	case o.Stage == gateway.StageAccepted && taken:
		r.t.Errorf("put %d is called not sent, and the instrument got it", n)
	}
}
