package streamtime_test

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polygate/gateway/internal/streamtime"
)

// A bare connection counts how often its deadlines are set.
type bare struct {
	net.Conn
	set int
}

func (b *bare) SetWriteDeadline(time.Time) error { b.set++; return nil }
func (b *bare) SetReadDeadline(time.Time) error  { b.set++; return nil }
func (b *bare) Read([]byte) (int, error)         { return 0, nil }

func TestADeadlineIsSetOnlyWhenItMovesByMuch(t *testing.T) {
	for name, set := range map[string]func(*streamtime.Conn, time.Time) error{
		"write": (*streamtime.Conn).SetWriteDeadline,
		"read": func(c *streamtime.Conn, at time.Time) error {
			_, err := c.Read(nil)
			return errors.Join(c.SetReadDeadline(time.Now().Add(time.Hour)), c.SetReadDeadline(at), err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testDeadlines(t, set) })
		})
	}
}

func testDeadlines(t *testing.T, set func(*streamtime.Conn, time.Time) error) {
	inner := &bare{}
	c := &streamtime.Conn{Conn: inner}
	begin := time.Now()
	for _, step := range []struct {
		name  string
		after time.Duration // of the beginning
		limit time.Duration // 0 for none
		want  int           // how often it is set
	}{
		{"none", 0, 0, 0},
		{"the first", 0, 8 * time.Second, 1},
		{"the same", 0, 8 * time.Second, 0},
		{"later by little", 900 * time.Millisecond, 8 * time.Second, 0},
		{"later by much", time.Second, 8 * time.Second, 1},
		{"sooner by little", time.Second, 7900 * time.Millisecond, 1},
		{"later than one that is nearly over", 8500 * time.Millisecond, time.Second, 1},
		{"after one that is over", time.Minute, time.Second, 1},
		{"in the past", time.Minute, -time.Second, 1},
		{"none again", time.Minute, 0, 1},
		{"after none", time.Minute, time.Second, 1},
	} {
		<-time.After(step.after - time.Since(begin))
		var at time.Time
		if step.limit != 0 {
			at = time.Now().Add(step.limit)
		}
		before := inner.set
		if err := set(c, at); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(nil); err != nil {
			t.Fatal(err)
		}
		if got := inner.set - before; got != step.want {
			t.Errorf("%s: set %d times, want %d", step.name, got, step.want)
		}
	}
}

func TestADeadlineEndsAReadThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		defer ours.Close()
		c := &streamtime.Conn{Conn: ours}
		ended := make(chan error)
		read := func() {
			_, err := c.Read(make([]byte, 1))
			ended <- err
		}
		for range 2 {
			go read()
			synctest.Wait()
			if err := c.SetDeadline(time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("ended with %v", err)
			}
			if err := c.SetDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		if err := c.SetReadDeadline(begin.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		go read()
		if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("ended with %v after %v", err, time.Since(begin))
		}
	})
}
