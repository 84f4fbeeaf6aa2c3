package bus

import (
	"testing"
	"time"
)

func TestQuietIsOnlyWhereNothingCameOfWhatWasSaid(t *testing.T) {
	var b backchannel
	start := time.Now()
	for i, step := range []struct {
		at    time.Duration
		heard uint64
		want  bool
	}{
		{0, 0, false},
		{time.Millisecond, 0, false}, // two owners, one after the other
		{time.Second, 2, false},
		{2 * time.Second, 4, false},
		{3 * time.Second, 4, true},
		{3100 * time.Millisecond, 4, true},
		{3200 * time.Millisecond, 5, false},
		{20 * time.Second, 6, false}, // said again after a long time
	} {
		if got := b.quiet(step.heard, start.Add(step.at)); got != step.want {
			t.Errorf("step %d: %v", i, got)
		}
	}
}
