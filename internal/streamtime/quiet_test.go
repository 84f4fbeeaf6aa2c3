package streamtime_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/polygate/gateway/internal/streamtime"
)

func TestASignOfLifeIsDueWhenNothingWasWrittenForSoLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		q := streamtime.NewQuiet(10 * time.Second)
		defer q.Stop()
		wantWake := func(at time.Duration, over bool) {
			t.Helper()
			<-q.Woken()
			if got := time.Since(begin); got != at {
				t.Errorf("woken after %v, want %v", got, at)
			}
			if got := q.Over(); got != over {
				t.Errorf("after %v: over is %t", at, got)
			}
		}
		<-time.After(4 * time.Second)
		q.Wrote()
		wantWake(10*time.Second, false)
		wantWake(14*time.Second, true)
		wantWake(24*time.Second, true)
		time.AfterFunc(3*time.Second, q.Wake)
		wantWake(27*time.Second, false)
		wantWake(34*time.Second, true)
	})
}
