package link

import (
	"context"
	"testing"
	"time"
)

func TestBackoffGrowsToItsLimit(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // No need to wait.
	b := backoff{first: 100 * time.Millisecond, max: time.Second}
	for _, want := range []int64{100, 200, 400, 800, 1000, 1000} {
		if b.wait(ctx); b.last.Milliseconds() != want {
			t.Errorf("waited %s, want %dms", b.last, want)
		}
	}
	b.reset()
	if b.wait(ctx); b.last != b.first {
		t.Errorf("waited %s after a reset", b.last)
	}
}

func TestBackoffLimitByKind(t *testing.T) {
	for o, want := range map[Opener]time.Duration{
		Serial{}: time.Second, TCP{}: 5 * time.Second, UDP{}: 5 * time.Second,
	} {
		if got := NewLine("line", o).retry.max; got != want {
			t.Errorf("%T: %s, want %s", o, got, want)
		}
	}
}
