package frontendtest

import (
	"fmt"
	"strconv"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
)

func deviceLostAndBack(s *scene) {
	s.Rig.Set("rig.target", gateway.Of(1.0))
	s.Rig.Update(hubtest.Change{Path: "rig.target", Role: gateway.Setpoint, Value: gateway.Of(1.0)})
	s.Settle()
	good := s.Attribute("rig.target")
	w := s.watch("rig.target")
	w.untilValue(gateway.Readback, "1")
	s.Rig.SetState(false, "unplugged")
	events := w.untilSeverity("INVALID")
	if last := events[len(events)-1]; !sameJSON(last.Sample.Value, "1") || last.Sample.Status != "COMM" {
		s.Errorf("a lost device is shown as %+v, want the last value with COMM", last.Sample)
	}
	s.Rig.OnPut(func(d *hubtest.Device, p *gateway.Put) { d.Refuse(p, gateway.KindNotConnected, "unplugged") })
	s.wantFailure(s.client.Put(s.ctx, Put{Path: "rig.target", Value: "2"}), gateway.KindNotConnected)
	for role, got := range map[string]*Sample{"readback": s.get("rig.target").Readback, "setpoint": s.get("rig.target").Setpoint} {
		if got == nil || !sameJSON(got.Value, "1") || got.Severity != "INVALID" || got.Status != "COMM" {
			s.Errorf("%s of a lost device reads %+v, want the last value with INVALID COMM", role, got)
		}
	}

	s.Rig.OnPut(nil)
	s.Rig.SetState(true, "")
	w.untilSeverity("NO_ALARM")
	s.wantSample("rig.target", s.get("rig.target").Readback, good.Readback, "1")
	s.put("rig.target", "2")
	w.untilValue(gateway.Readback, "2")
}

func driverLostAndRestarted(s *scene) {
	s.Rig.Set("rig.level", gateway.Of(1.0))
	s.Settle()
	w := s.watch("rig.level")
	w.untilValue(gateway.Readback, "1")
	s.Rig.Leave("driver stopped")
	w.untilSeverity("INVALID")
	s.wantFailure(s.client.Put(s.ctx, Put{Path: "rig.target", Value: "2"}), gateway.KindNotConnected)
	if got := s.get("rig.level").Readback; got == nil || !sameJSON(got.Value, "1") || got.Severity != "INVALID" {
		s.Errorf("without its driver rig.level reads %+v, want the last value with INVALID", got)
	}

	s.Rig.Restart(true)
	s.Rig.Announce()
	s.Settle()
	if got := s.get("rig.level").Readback; got == nil || got.Severity != "INVALID" {
		s.Errorf("the new driver has read nothing, and rig.level reads %+v", got)
	}
	s.Rig.Set("rig.level", gateway.Of(2.0))
	events := w.untilValue(gateway.Readback, "2")
	for _, e := range events {
		if e.Removed {
			s.Errorf("a restart of the driver removed %s", e.Path)
		}
	}
	if last := events[len(events)-1]; last.Sample.Severity != "NO_ALARM" {
		w.untilSeverity("NO_ALARM")
	}
	s.put("rig.target", "3")
	if got := s.get("rig.target").Readback; got == nil || !sameJSON(got.Value, "3") || got.Severity != "NO_ALARM" {
		s.Errorf("after the restart rig.target reads %+v", got)
	}
}

// slowReaderGetsTheNewest does not read while more happens than any queue
// holds, and then wants the newest of each attribute, in order.
func slowReaderGetsTheNewest(s *scene) {
	slow := map[string]*watcher{"rig.wave": s.watch("rig.wave")}
	for i := range floodWidth {
		path := string(floodPath(i))
		slow[path] = s.watch(path)
	}
	for _, w := range slow {
		w.next() // so that the frontend surely knows of it
	}
	s.client = s.dial() // of another client, which keeps up

	overflows := func() (n uint64) {
		for _, c := range s.clients(s.frontend.Protocol) {
			n += c.Overflows
		}
		return n
	}
	round := 0
	for most := 4000; overflows() == 0 && round < most; round++ {
		changes := []hubtest.Change{{Path: "rig.wave", Role: gateway.Readback, Value: wave(round)}}
		for i := range floodWidth {
			changes = append(changes, hubtest.Change{Path: floodPath(i), Role: gateway.Readback, Value: gateway.Of(float64(round))})
		}
		s.Rig.Update(changes...)
		if round%50 == 0 {
			s.Settle()
			s.get("rig.level") // nobody else is held up
		}
	}
	s.Settle()
	if overflows() == 0 {
		s.Errorf("%d waves of %d elements did not fill the queue of a client that does not read", round, WaveLength)
	}
	last := round - 1
	for path, w := range slow {
		before := -1.0
		w.until(fmt.Sprintf("the newest value of %s", path), func(e Event) bool {
			if e.Path != path {
				return false
			}
			v := firstNumber(e.Sample.Value)
			if v < before {
				s.Fatalf("%s went back from %v to %v", path, before, v)
			}
			before = v
			return v == float64(last)
		})
	}
}

func wave(first int) gateway.Value {
	elements := make([]float64, WaveLength)
	for i := range elements {
		elements[i] = 1.0 / float64(i+1)
	}
	elements[0] = float64(first)
	return gateway.ArrayOf(elements)
}

// firstNumber returns a number, or the first one of an array; -1 if there is none.
func firstNumber(json string) float64 {
	start := 0
	for start < len(json) && (json[start] == '[' || json[start] == ' ') {
		start++
	}
	end := start
	for end < len(json) && json[end] != ',' && json[end] != ']' {
		end++
	}
	v, err := strconv.ParseFloat(json[start:end], 64)
	if err != nil {
		return -1
	}
	return v
}

func hotAddAndRemove(s *scene) {
	_, err := s.client.Get(s.ctx, "rig.extra")
	s.wantFailure(err, gateway.KindNotFound)
	w := s.watch("rig.extra")
	level := s.watch("rig.level")
	s.Rig.Redescribe(append(RigDescriptors(), hubtest.Float("rig.extra", gateway.AccessReadWrite))...)
	s.Rig.Set("rig.extra", gateway.Of(1.0))
	w.untilValue(gateway.Readback, "1")
	s.put("rig.extra", "2")
	w.untilValue(gateway.Readback, "2")

	s.Rig.Redescribe(RigDescriptors()...)
	w.until("the removal", func(e Event) bool { return e.Removed })
	_, err = s.client.Get(s.ctx, "rig.extra")
	s.wantFailure(err, gateway.KindNotFound)
	s.wantFailure(s.client.Put(s.ctx, Put{Path: "rig.extra", Value: "3"}), gateway.KindNotFound)

	// What stays was never away, and what comes again is there again.
	s.Rig.Redescribe(append(RigDescriptors(), hubtest.Float("rig.extra", gateway.AccessReadWrite))...)
	s.Rig.Set("rig.extra", gateway.Of(4.0))
	w.untilValue(gateway.Readback, "4")
	s.Rig.Set("rig.level", gateway.Of(5.0))
	for _, e := range level.untilValue(gateway.Readback, "5") {
		if e.Removed {
			s.Error("rig.level was removed, and it was not")
		}
	}
}
