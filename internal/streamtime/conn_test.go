package streamtime_test

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polygate/gateway/internal/streamtime"
)

// A bare connection counts how often its deadline is set.
type bare struct {
	net.Conn
	set int
}

func (b *bare) SetWriteDeadline(time.Time) error { b.set++; return nil }
func (b *bare) SetReadDeadline(time.Time) error  { return nil }

func TestADeadlineIsSetOnlyWhenItMovesByMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &bare{}
		c := streamtime.Conn{Conn: inner}
		begin := time.Now()
		for _, step := range []struct {
			name  string
			after time.Duration // of the beginning
			limit time.Duration // 0 for none
			want  int           // how often it is set
		}{
			{"the first", 0, 8 * time.Second, 1},
			{"the same", 0, 8 * time.Second, 0},
			{"later by little", 900 * time.Millisecond, 8 * time.Second, 0},
			{"later by much", time.Second, 8 * time.Second, 1},
			{"sooner by little", time.Second, 7900 * time.Millisecond, 1},
			{"later than one that is nearly over", 8500 * time.Millisecond, time.Second, 1},
			{"after one that is over", time.Minute, time.Second, 1},
			{"in the past", time.Minute, -time.Second, 1},
			{"none", time.Minute, 0, 1},
			{"after none", time.Minute, time.Second, 1},
		} {
			<-time.After(step.after - time.Since(begin))
			var at time.Time
			if step.limit != 0 {
				at = time.Now().Add(step.limit)
			}
			before := inner.set
			if err := c.SetDeadline(at); err != nil {
				t.Fatal(err)
			}
			if got := inner.set - before; got != step.want {
				t.Errorf("%s: set %d times, want %d", step.name, got, step.want)
			}
		}
	})
}
