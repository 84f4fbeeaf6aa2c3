package frontendtest

import (
	"context"
	"fmt"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
)

func putOfEachKind(s *scene) {
	for _, x := range eachKind {
		s.put(string(x.path), x.json)
		a := s.Attribute(x.path)
		if !a.Setpoint.Value.Equal(x.value) || !a.Readback.Value.Equal(x.value) {
			s.Errorf("%s: after the put of %s the hub has %v and %v", x.path, x.json, a.Setpoint.Value, a.Readback.Value)
		}
	}
	s.put("rig.mode", "2") // a state by its index
	if got := s.Attribute("rig.mode").Readback.Value.Index(); got != 2 {
		s.Errorf("rig.mode is %d, want 2", got)
	}
	s.put("rig.trigger", "3")
	if got := s.get("rig.trigger").Setpoint; got == nil || !sameJSON(got.Value, "3") {
		s.Errorf("a write-only attribute shows %+v, want what was asked last", got)
	}
}

func putIsReadBackAtOnce(s *scene) {
	for i := range 200 {
		value := fmt.Sprint(i)
		s.put("rig.count", value)
		if got := s.get("rig.count"); got.Readback == nil || !sameJSON(got.Readback.Value, value) {
			s.Fatalf("put %s and read %+v", value, got.Readback)
		}
	}
}

func putIsSeenByWatchers(s *scene) {
	w := s.watch("rig.target")
	s.put("rig.target", "42")
	seen := w.untilValue(gateway.Readback, "42")
	shown := false
	for _, e := range seen {
		shown = shown || e.Role == gateway.Setpoint && sameJSON(e.Sample.Value, "42")
	}
	if !shown {
		w.untilValue(gateway.Setpoint, "42")
	}
}

func putThatIsRefused(s *scene) {
	s.put("rig.target", "5")
	before := s.Attribute("rig.target")
	sent := len(s.Rig.Puts())
	for _, x := range []struct {
		path, value string
		kind        gateway.ErrorKind
	}{
		{"rig.nosuch", "1", gateway.KindNotFound},
		{"rig.level", "1", gateway.KindReadOnly},
		{"rig.target", `"warm"`, gateway.KindWrongType},
		{"rig.target", "100.5", gateway.KindOutOfRange},
		{"rig.target", "-1", gateway.KindOutOfRange},
		{"rig.count", "2147483648", gateway.KindOutOfRange},
		{"rig.mode", `"Standby"`, gateway.KindNotALabel},
		{"rig.mode", "3", gateway.KindNotALabel},
		{"rig.label", `"far too long for sixteen bytes"`, gateway.KindTooLarge},
	} {
		err := s.client.Put(s.ctx, Put{Path: x.path, Value: x.value})
		s.wantFailure(err, x.kind)
	}
	if n := len(s.Rig.Puts()) - sent; n != 0 {
		s.Errorf("%d refused puts reached the device", n)
	}
	if after := s.Attribute("rig.target"); after.Setpoint != before.Setpoint {
		s.Errorf("a refusal changed the setpoint from %+v to %+v", before.Setpoint, after.Setpoint)
	}
}

// putThatFailsLater has the driver end puts in each way that it can.
func putThatFailsLater(s *scene) {
	refuse := func(d *hubtest.Device, p *gateway.Put, kind gateway.ErrorKind) { d.Refuse(p, kind, "for the test") }
	fail := func(stage gateway.Stage) func(*hubtest.Device, *gateway.Put, gateway.ErrorKind) {
		return func(d *hubtest.Device, p *gateway.Put, kind gateway.ErrorKind) {
			d.Accept(p)
			err := gateway.Errorf(kind, "for the test")
			err.Stage, err.DeviceWords = stage, "ERR 17"
			d.Finish(p, gateway.Verdict{Stage: stage, Err: err})
		}
	}
	for _, x := range []struct {
		kind   gateway.ErrorKind
		end    func(*hubtest.Device, *gateway.Put, gateway.ErrorKind)
		status string // of the setpoint afterwards; empty if it stays as it was
	}{
		{gateway.KindOutOfRange, refuse, ""},
		{gateway.KindDenied, refuse, ""},
		{gateway.KindConflict, refuse, ""},
		{gateway.KindBusy, refuse, ""},
		{gateway.KindNotConnected, refuse, ""},
		{gateway.KindExpired, fail(gateway.StageAccepted), "COMM"},
		{gateway.KindNotConnected, fail(gateway.StageAccepted), "COMM"},
		{gateway.KindRefusedByDevice, fail(gateway.StageSent), "WRITE"},
		{gateway.KindUnknownOutcome, fail(gateway.StageSent), "TIMEOUT"},
		{gateway.KindInternal, fail(gateway.StageAccepted), "WRITE"},
	} {
		s.Rig.OnPut(nil)
		s.put("rig.target", "1")
		s.Rig.OnPut(func(d *hubtest.Device, p *gateway.Put) { x.end(d, p, x.kind) })
		err := s.client.Put(s.ctx, Put{Path: "rig.target", Value: "2"})
		s.wantFailure(err, x.kind)
		value, severity, status := "2", "INVALID", x.status
		if x.status == "" {
			value, severity, status = "1", "NO_ALARM", "NO_ALARM"
		}
		got := s.get("rig.target")
		if got.Setpoint == nil || !sameJSON(got.Setpoint.Value, value) || got.Setpoint.Severity != severity || got.Setpoint.Status != status {
			s.Errorf("%v: setpoint %+v, want %s with %s %s", x.kind, got.Setpoint, value, severity, status)
		}
		if got.Readback == nil || !sameJSON(got.Readback.Value, "1") || got.Readback.Severity != "NO_ALARM" {
			s.Errorf("%v: readback %+v, want 1 without an alarm", x.kind, got.Readback)
		}
	}
}

// putThatIsSuperseded holds one put of mode latest until the next comes.
func putThatIsSuperseded(s *scene) {
	if s.frontend.Lacks.Latest {
		s.Skip("the protocol has no puts of mode latest with a verdict")
	}
	arrived := make(chan *gateway.Put, 2)
	s.Rig.OnPut(func(_ *hubtest.Device, p *gateway.Put) { arrived <- p })
	put := func(c Client, value string) <-chan error {
		done := make(chan error, 1)
		go func() { done <- c.Put(s.ctx, Put{Path: "rig.target", Value: value, Mode: gateway.Latest}) }()
		return done
	}
	first := put(s.client, "1")
	older := receive(s, arrived)
	s.Rig.Accept(older)
	second := put(s.dial(), "2")
	newer := receive(s, arrived)
	if older.Mode != gateway.Latest || newer.Mode != gateway.Latest {
		s.Errorf("modes are %v and %v, want latest", older.Mode, newer.Mode)
	}
	s.Rig.Accept(newer)
	s.Rig.Supersede(older)
	s.Rig.Finish(newer, gateway.Verdict{Stage: gateway.StageVerified})
	s.wantFailure(receive(s, first), gateway.KindSuperseded)
	if err := receive(s, second); err != nil {
		s.Errorf("the newer put: %v", err)
	}
	if got := s.get("rig.target").Setpoint; got == nil || !sameJSON(got.Value, "2") || got.Severity != "NO_ALARM" {
		s.Errorf("setpoint %+v, want 2", got)
	}
}

func receive[T any](s *scene, from <-chan T) T {
	s.Helper()
	select {
	case x := <-from:
		return x
	case <-s.ctx.Done():
		s.Fatal("what must happen did not")
		var none T
		return none
	}
}

func putThatIsNeverAnswered(s *scene) {
	if s.frontend.Lacks.Budget {
		s.Skip("the protocol has no budgets")
	}
	s.Rig.OnPut(func(d *hubtest.Device, p *gateway.Put) { d.Accept(p) })
	err := s.client.Put(s.ctx, Put{Path: "rig.target", Value: "3", Budget: 300 * time.Millisecond})
	s.wantFailure(err, gateway.KindUnknownOutcome)
	if got := s.get("rig.target").Setpoint; got == nil || !sameJSON(got.Value, "3") {
		s.Errorf("setpoint %+v, want the accepted 3", got)
	}
}

func putWhileStopping(s *scene) {
	ctx, cancel := context.WithTimeout(s.ctx, Limit)
	defer cancel()
	if err := s.Hub.Drain(ctx); err != nil {
		s.Fatal(err)
	}
	err := s.client.Put(s.ctx, Put{Path: "rig.target", Value: "3"})
	s.wantFailure(err, gateway.KindShuttingDown)
	s.get("rig.level")
}

func executeACommand(s *scene) {
	if err := s.client.Execute(s.ctx, "rig.reset"); err != nil {
		s.Errorf("Execute: %v", err)
	}
	puts := s.Rig.Puts()
	if len(puts) != 1 || puts[0].Path != "rig.reset" {
		s.Fatalf("the device got %v, want one rig.reset", puts)
	}
	if got := puts[0].Caller.Protocol; got != s.frontend.Protocol {
		s.Errorf("the caller's protocol is %q, want %q", got, s.frontend.Protocol)
	}
	s.Rig.OnPut(func(d *hubtest.Device, p *gateway.Put) { d.Reject(p, "interlock open") })
	s.wantFailure(s.client.Execute(s.ctx, "rig.reset"), gateway.KindRefusedByDevice)
	s.wantFailure(s.client.Execute(s.ctx, "rig.nosuch"), gateway.KindNotFound)
}
