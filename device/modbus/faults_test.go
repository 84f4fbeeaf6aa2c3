package modbus_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/modbus/pdu"
)

// Faults without a parameter.
func silent([]byte) (now, held []byte)       { return nil, nil }
func late(reply []byte) (now, held []byte)   { return nil, reply }
func half(reply []byte) (now, held []byte)   { return reply[:len(reply)/2], nil }
func torn(reply []byte) (now, held []byte)   { return reply[:len(reply)/2], reply[len(reply)/2:] }
func twice(reply []byte) (now, held []byte)  { return append(bytes.Clone(reply), reply...), nil }
func again(reply []byte) (now, held []byte)  { return reply, bytes.Clone(reply) }
func behind(reply []byte) (now, held []byte) { return append([]byte{0x00, 0xFF, 0x01}, reply...), nil }

// damaged flips a bit of one byte.
func damaged(at int) fault {
	return func(reply []byte) (now, held []byte) {
		b := bytes.Clone(reply)
		b[at%len(b)] ^= 0x10
		return b, nil
	}
}

// instead sends a correct RTU frame of somebody in place of the reply.
func instead(unit byte, pduBytes ...byte) fault {
	return func([]byte) (now, held []byte) { return pdu.AppendRTU(nil, unit, pduBytes), nil }
}

// before sends it in front of the reply.
func before(unit byte, pduBytes ...byte) fault {
	return func(reply []byte) (now, held []byte) {
		return append(pdu.AppendRTU(nil, unit, pduBytes), reply...), nil
	}
}

const quick = `
reply_timeout: 500ms
read_timeout: 200ms
quiet_time: 50ms
attributes:
  a: {table: holding, address: 0, kind: int16, access: rw, poll: 1s}
  b: {table: holding, address: 100, kind: int16, access: rw, poll: 1s}
`

// TestRTUFaults spoils the reply to a read of a, which holds 11, and then reads
// b and a, which have to show what they hold: 22 and 11.
func TestRTUFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault fault
		shows string
	}{
		"none":                        {nil, "a=11"},
		"no reply":                    {silent, "a= INVALID/TIMEOUT"},
		"half a reply":                {half, "a= INVALID/READ"},
		"half, and the rest too late": {torn, "a= INVALID/READ"},
		"too late (SD-01)":            {late, "a= INVALID/TIMEOUT"},
		"wrong data":                  {damaged(4), "a= INVALID/READ"},
		"wrong check bytes":           {damaged(6), "a= INVALID/READ"},
		"wrong unit":                  {damaged(0), "a= INVALID/TIMEOUT"},
		"wrong function":              {damaged(1), "a= INVALID/TIMEOUT"},
		"wrong length":                {damaged(2), "a= INVALID/READ"},
		"another unit":                {instead(2, 3, 2, 0, 99), "a= INVALID/TIMEOUT"},
		"another function":            {instead(1, 4, 2, 0, 99), "a= INVALID/TIMEOUT"},
		"another number of registers": {instead(1, 3, 4, 0, 99, 0, 99), "a= INVALID/TIMEOUT"},
		"another unit in front":       {before(2, 3, 2, 0, 99), "a=11"},
		"noise in front":              {behind, "a=11"},
		"two replies":                 {twice, "a=11"},
		"nothing that is known":       {instead(1, 43, 14), "a= INVALID/TIMEOUT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSlave(false, 1)
			s.holds(1, 3, 0, 11)
			s.holds(1, 3, 100, 22)
			u := newRig(t, s).unit("dev", quick).connect()
			s.spoil(c.fault)
			expect(t, u.poll("a"), c.shows)
			for range 3 {
				expect(t, u.poll("b"), "b=22")
				expect(t, u.poll("a"), "a=11")
			}
		})
	}
}

func TestTCPFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault fault
		shows string
	}{
		"no reply":                    {silent, "a= INVALID/TIMEOUT"},
		"half a reply":                {half, "a= INVALID/READ"},
		"half, and the rest too late": {torn, "a= INVALID/READ"},
		"too late (SD-01)":            {late, "a= INVALID/TIMEOUT"},
		"another transaction":         {damaged(1), "a= INVALID/TIMEOUT"},
		"another protocol":            {damaged(3), "a= INVALID/READ"},
		"another unit":                {damaged(6), "a= INVALID/TIMEOUT"},
		"another function":            {damaged(7), "a= INVALID/TIMEOUT"},
		"two replies":                 {twice, "a=11"},
		"the reply once more, late":   {again, "a=11"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSlave(true, 1)
			s.holds(1, 3, 0, 11)
			s.holds(1, 3, 100, 22)
			u := newRig(t, s).unit("dev", quick).connect()
			s.spoil(c.fault)
			expect(t, u.poll("a"), c.shows)
			if name == "half a reply" {
				// The rest never comes: the next reply is taken for it, and
				// only the one behind it can be read.
				u.poll("b")
				u.poll("b")
			}
			for range 3 {
				expect(t, u.poll("b"), "b=22")
				expect(t, u.poll("a"), "a=11")
			}
		})
	}
}

// TestSD01NoLateReplyIsTakenForAnother lets every second reply come too late: with
// the next request, in front of its reply. Nothing in it tells which of the two
// registers it was read from.
func TestSD01NoLateReplyIsTakenForAnother(t *testing.T) {
	both(t, func(t *testing.T, overTCP bool) {
		t.Parallel()
		s := newSlave(overTCP, 1)
		s.holds(1, 3, 0, 11)
		s.holds(1, 3, 100, 22)
		u := newRig(t, s).unit("dev", quick).connect()
		good := 0
		for range 4 {
			s.spoil(late, nil, nil)
			for _, x := range []struct{ name, value string }{{"a", "a=11"}, {"b", "b=22"}, {"b", "b=22"}, {"a", "a=11"}} {
				switch got := u.poll(x.name); got {
				case x.value:
					good++
				case x.name + "= INVALID/TIMEOUT":
				default:
					t.Fatalf("%s shows %q", x.name, got)
				}
			}
		}
		if good < 8 {
			t.Errorf("only %d of 16 polls were good", good)
		}
	})
}

// A unit acknowledges a write and takes something else: that is acknowledged, but
// not verified. What its registers cannot tell apart counts as taken.
func TestWhatIsNotReadBackIsNotVerified(t *testing.T) {
	s := newSlave(false, 1)
	s.holds(1, 3, 0, 11)
	s.holds(1, 3, 100, 22)
	u := newRig(t, s).unit("dev", quick+"  tenths: {table: holding, address: 0, kind: float64, type: int16, scale: 0.1, access: rw}\n").connect()
	s.touch(func() { s.units[1].limit = 20 })
	expect(t, u.put("a", "20"), "verified: a=20")
	expect(t, u.put("a", "30"), "acknowledged: a=20")
	expect(t, u.put("tenths", "1.26"), "verified: tenths=1.3")
}

// TestALateReplyBetweenExchangesIsCounted lets the missing reply come before
// anything else is asked: nothing has to be read in vain then.
func TestALateReplyBetweenExchangesIsCounted(t *testing.T) {
	s := newSlave(false, 1)
	s.holds(1, 3, 0, 11)
	s.holds(1, 3, 100, 22)
	u := newRig(t, s).unit("dev", quick).connect()
	s.spoil(late)
	expect(t, u.poll("a"), "a= INVALID/TIMEOUT")
	u.slave.asked()
	before := u.line.Counters().BytesIn
	if err := s.release(); err != nil {
		t.Fatal(err)
	}
	// An exchange of another function does not look at what is owed.
	expect(t, u.put("a", "11"), "verified: a=11")
	if n := u.line.Counters().BytesIn - before; n < 7+8+7 {
		t.Errorf("%d bytes have come", n)
	}
	expect(t, u.slave.asked(), "1:060000000b 1:0300000001")
	expect(t, u.poll("b"), "b=22")
}

// TestTorture spoils replies at random. Whatever is shown must be what the unit
// holds, and a put must have done what its outcome says.
func TestTorture(t *testing.T) {
	both(t, func(t *testing.T, overTCP bool) {
		t.Parallel()
		random := rand.New(rand.NewPCG(1, 2))
		s := newSlave(overTCP, 1, 2)
		r := newRig(t, s)
		const config = `
reply_timeout: 60ms
read_timeout: 30ms
quiet_time: 20ms
attributes:
  a: {table: holding, address: 0, kind: int16, poll: 1s}
  b: {table: holding, address: 100, kind: int16, poll: 1s}
  c: {table: holding, address: 200, kind: int32, poll: 1s}
  p: {table: holding, address: 300, kind: int16, access: rw}
`
		units := []*unit{r.unit("one", "\nunit: 1"+config), r.unit("two", "\nunit: 2"+config)}
		for i := range units {
			base := uint16(100 * (i + 1))
			s.holds(byte(i+1), 3, 0, base+1)
			s.holds(byte(i+1), 3, 100, base+2)
			s.holds(byte(i+1), 3, 200, 0, base+3)
			s.holds(byte(i+1), 3, 300, 0)
			units[i].connect()
		}
		faults := []fault{silent, late, late, half, torn, damaged(random.IntN(7)), twice}
		if !overTCP {
			faults = append(faults, behind, before(3, 3, 2, 0, 99), before(1, 4, 2, 0, 99))
		}
		good, bad := 0, 0
		for i := range 150 {
			n := random.IntN(2)
			u, number := units[n], byte(n+1)
			if random.IntN(3) == 0 {
				s.spoil(faults[random.IntN(len(faults))])
			}
			if i%5 == 0 {
				value := uint16(1000 + i)
				got := u.put("p", strconv.Itoa(int(value)))
				done := s.word(number, 300) == value
				if strings.HasPrefix(got, "verified:") && (!done || !strings.HasSuffix(got, fmt.Sprintf("p=%d", value))) ||
					strings.HasPrefix(got, "acknowledged") && !done || strings.HasPrefix(got, "accepted") && done {
					t.Fatalf("put %d: %s, done %t", i, got, done)
				}
				continue
			}
			name := []string{"a", "b", "c"}[random.IntN(3)]
			want := fmt.Sprintf("%s=%d", name, 100*int(number)+map[string]int{"a": 1, "b": 2, "c": 3}[name])
			switch got := u.poll(name); {
			case got == want:
				good++
			case strings.HasPrefix(got, name+"= INVALID/"):
				bad++
			default:
				t.Fatalf("poll %d of unit %d: %s, want %s", i, number, got, want)
			}
		}
		if good < 10 || bad == 0 {
			t.Errorf("%d good and %d bad", good, bad)
		}
	})
}

// TestALineThatBabblesIsAFault lets noise begin behind a request. It has no end,
// but it may have gaps in which a unit is heard.
func TestALineThatBabblesIsAFault(t *testing.T) {
	s := newSlave(false, 1)
	s.holds(1, 3, 0, 11)
	s.holds(1, 3, 100, 22)
	u := newRig(t, s).unit("dev", quick).connect()
	var babbling sync.WaitGroup
	stop := make(chan struct{})
	s.spoil(func([]byte) (now, held []byte) {
		out := s.out
		babbling.Go(func() {
			for noise := make([]byte, 100); ; {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := out.Write(noise); err != nil {
					return
				}
			}
		})
		return nil, nil
	})
	if got := u.poll("a"); !strings.HasPrefix(got, "a= INVALID/") {
		t.Errorf("a shows %q", got)
	}
	if got := u.poll("b"); got != "b=22" && !strings.HasPrefix(got, "b= INVALID/") {
		t.Errorf("b shows %q", got)
	}
	close(stop)
	if t.Failed() {
		_ = u.far.Close() // nobody may be left to take the noise
	}
	babbling.Wait()
	expect(t, u.poll("b"), "b=22")
	expect(t, u.poll("a"), "a=11")
}

func TestPutsAndFaults(t *testing.T) {
	for name, c := range map[string]struct {
		faults []fault
		shows  string
	}{
		"no reply":                  {[]fault{silent}, "sent unknown_outcome: a= INVALID/TIMEOUT"},
		"damaged":                   {[]fault{damaged(3)}, "sent unknown_outcome: a= INVALID/READ"},
		"reply for another value":   {[]fault{instead(1, 6, 0, 0, 0, 99)}, "sent unknown_outcome: a= INVALID/TIMEOUT"},
		"reply for another address": {[]fault{instead(1, 6, 0, 1, 0, 5)}, "sent unknown_outcome: a= INVALID/TIMEOUT"},
		"no read-back":              {[]fault{nil, silent}, "acknowledged: a= INVALID/TIMEOUT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSlave(false, 1)
			s.holds(1, 3, 0, 11)
			s.holds(1, 3, 100, 22)
			u := newRig(t, s).unit("dev", quick).connect()
			s.spoil(c.faults...)
			expect(t, u.put("a", "5"), c.shows)
			if n := s.written(1); n != 1 {
				t.Errorf("it was written %d times", n)
			}
			expect(t, u.poll("b"), "b=22")
			expect(t, u.put("a", "6"), "verified: a=6")
			expect(t, u.poll("a"), "a=6")
		})
	}
}

func TestAPutWhoseBudgetIsOutIsNotSent(t *testing.T) {
	s := newSlave(false, 1)
	s.holds(1, 3, 0, 11)
	s.holds(1, 3, 100, 22)
	u := newRig(t, s).unit("dev", quick).connect()
	ctx, cancel := context.WithDeadline(u.ctx, time.Now().Add(-time.Second))
	defer cancel()
	outcome := u.driver.Put(ctx, u.index["a"], gateway.Of[int16](5))
	expect(t, u.showOutcome(outcome), "accepted expired")
	expect(t, u.slave.asked(), "")
}

func TestALostLineIsSaidSo(t *testing.T) {
	both(t, func(t *testing.T, overTCP bool) {
		s := newSlave(overTCP, 1)
		s.holds(1, 3, 0, 11)
		s.holds(1, 3, 100, 22)
		u := newRig(t, s).unit("dev", quick).connect()
		u.cut()
		readings, err := u.driver.Poll(u.ctx, 0, nil)
		if err == nil {
			t.Errorf("the poll shows %s", u.show(readings))
		}
		if got := u.put("a", "5"); got != "accepted not_connected (lost)" {
			t.Errorf("the put shows %s", got)
		}
	})
}
