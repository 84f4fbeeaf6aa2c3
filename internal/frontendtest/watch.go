package frontendtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
)

func watchDeliversEveryChange(s *scene) {
	s.Rig.Set("rig.level", gateway.Of(-1.0))
	s.Settle()
	w := s.watch("rig.level")
	w.untilValue(gateway.Readback, "-1")
	const n = 300
	var want []string
	for i := range n {
		s.Rig.Set("rig.level", gateway.Of(float64(i)))
		// A poll that changed nothing is nobody's news.
		s.Rig.Update(hubtest.Change{Path: "rig.level", Role: gateway.Readback, Value: gateway.Of(float64(i)), Same: true})
		want = append(want, fmt.Sprint(i))
		if i%50 == 0 {
			s.Settle()
		}
	}
	if got := values(w.untilValue(gateway.Readback, fmt.Sprint(n-1)), gateway.Readback); !slices.EqualFunc(got, want, sameJSON) {
		s.Errorf("got %v", got)
	}
	s.Settle()
	a := s.Attribute("rig.level")
	if a.Readback.Mask != 0 {
		s.Fatalf("the last poll has the mask %v", a.Readback.Mask)
	}
	s.Rig.Update(hubtest.Change{
		Path: "rig.level", Role: gateway.Readback, Value: gateway.Of(5.0),
		Alarm: gateway.Alarm{Severity: gateway.Minor, Status: gateway.StatusHigh},
	})
	events := w.untilSeverity("MINOR")
	s.Settle()
	s.wantSample("rig.level", &events[len(events)-1].Sample, s.Attribute("rig.level").Readback, "5")
}

func watchOfAPattern(s *scene) {
	p, ok := s.client.(PatternWatcher)
	if !ok {
		s.Skip("the protocol has no patterns")
	}
	watch, err := p.WatchPattern(s.ctx, "rig.*")
	w := s.watcher("rig.*", watch, err)
	s.Rig.Update(
		hubtest.Change{Path: "rig.level", Role: gateway.Readback, Value: gateway.Of(1.0)},
		hubtest.Change{Path: "rig.count", Role: gateway.Setpoint, Value: gateway.Of(int32(2))},
		hubtest.Change{Path: "rig.count", Role: gateway.Readback, Value: gateway.Of(int32(3))},
	)
	seen := map[string]string{}
	w.until("all three samples", func(e Event) bool {
		if e.Path != "" {
			seen[e.Path+" "+e.Role.String()] = e.Sample.Value
		}
		return sameJSON(seen["rig.level readback"], "1") && sameJSON(seen["rig.count setpoint"], "2") && sameJSON(seen["rig.count readback"], "3")
	})
	if seen["rig.wave readback"] == "" && seen["rig.mode readback"] == "" {
		s.Errorf("what did not change was not shown: %v", seen)
	}
}

func watchesAreIndependent(s *scene) {
	first, second := s.watch("rig.level"), s.watch("rig.level")
	other := s.client
	s.client = s.dial()
	third := s.watch("rig.level")
	s.client = other
	s.Rig.Set("rig.level", gateway.Of(1.0))
	for _, w := range []*watcher{first, second, third} {
		w.untilValue(gateway.Readback, "1")
	}
	first.close()
	s.Rig.Set("rig.level", gateway.Of(2.0))
	second.untilValue(gateway.Readback, "2")
	third.untilValue(gateway.Readback, "2")
}

func resumeWithoutAGap(s *scene) {
	r, ok := s.client.(Resumer)
	if !ok {
		s.Skip("the protocol cannot resume")
	}
	w := s.watch("rig.level")
	s.Rig.Set("rig.level", gateway.Of(0.0))
	events := w.untilValue(gateway.Readback, "0")
	cursor := events[len(events)-1].Cursor
	if cursor == "" {
		s.Fatalf("no cursor in %+v", events)
	}
	w.close()
	var want []string
	for i := 1; i <= 50; i++ {
		s.Rig.Set("rig.level", gateway.Of(float64(i)))
		want = append(want, fmt.Sprint(i))
	}
	s.Settle()
	watch, err := r.Resume(s.ctx, "rig.level", cursor)
	w = s.watcher("rig.level", watch, err)
	s.Rig.Set("rig.level", gateway.Of(51.0))
	want = append(want, "51")
	if got := values(w.untilValue(gateway.Readback, "51"), gateway.Readback); !slices.EqualFunc(got, want, sameJSON) {
		s.Errorf("resumed with %v", got)
	}
}

func resumeFromNowhere(s *scene) {
	r, ok := s.client.(Resumer)
	if !ok {
		s.Skip("the protocol cannot resume")
	}
	s.Rig.Set("rig.level", gateway.Of(7.0))
	s.Settle()
	watch, err := r.Resume(s.ctx, "rig.level", gateway.Cursor{Epoch: 1, N: 1}.String())
	w := s.watcher("rig.level", watch, err)
	if events := w.untilValue(gateway.Readback, "7"); !events[0].Gap {
		s.Errorf("a watch that cannot continue does not say so: %+v", events)
	}
	watch, err = r.Resume(s.ctx, "rig.level", "not a cursor")
	if err == nil {
		_ = watch.Close()
	}
	s.wantFailure(err, gateway.KindMalformed)
}

func stopWhileWatching(s *scene) {
	w := s.watch("rig.level")
	s.Rig.Set("rig.level", gateway.Of(1.0))
	w.untilValue(gateway.Readback, "1")
	s.stop()
	for {
		_, err := w.watch.Next(s.ctx)
		if errors.Is(err, s.ctx.Err()) && s.ctx.Err() != nil {
			s.Fatal("the watch did not end with the frontend")
		}
		if err != nil {
			break
		}
	}
	if left := s.clients(s.frontend.Protocol); len(left) != 0 {
		s.Errorf("%d streams are still open: %+v", len(left), left)
	}
}
