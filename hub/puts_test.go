package hub_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

func ramp(v float64) gateway.PutRequest {
	return gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(v)}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestVerdictComesAfterItsSamples(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		synctest.Wait()
		p, err := w.view.Put(ramp(5))
		if err != nil {
			t.Fatal(err)
		}
		v := gateway.Wait(context.Background(), p)
		if v.Err != nil || v.Stage != gateway.StageVerified || !isClosed(p.Accepted()) {
			t.Fatalf("verdict %+v", v)
		}
		// Without waiting for anything else:
		a, _ := w.view.Get("oven.ramp")
		if a.Readback.Value.Float() != 5 || a.Setpoint.Value.Float() != 5 || v.Readback != a.Readback {
			t.Errorf("after the verdict: readback %v, setpoint %v", a.Readback.Value, a.Setpoint.Value)
		}
	})
}

func TestPutsAreRefusedSynchronously(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		limited := hubtest.Float("oven.limited", readWrite)
		limited.Control = gateway.Range{Low: gateway.At(0), High: gateway.At(10)}
		mode := &gateway.Descriptor{
			Path: "oven.mode",
			Traits: &gateway.Traits{
				Access: readWrite,
				Type: gateway.Type{
					Kind: gateway.Enum, States: []gateway.State{{Label: "Off"}, {Label: "On"}},
				},
			},
		}
		move := hubtest.Command("oven.move")
		move.Argument = &gateway.Type{Kind: gateway.Int32}
		oven.Redescribe(append(ovenDescriptors(), limited, mode, move)...)
		synctest.Wait()
		level := hubtest.Float("oven.level", gateway.AccessWrite)
		oven.Redescribe(append(oven.Descriptors(), level)...)
		synctest.Wait()
		put, execute, refresh := w.view.Put, w.view.Execute, w.view.Refresh
		tests := []struct {
			name string
			do   func(gateway.PutRequest) (gateway.Pending, error)
			r    gateway.PutRequest
			want gateway.ErrorKind
		}{
			{"unknown", put, gateway.PutRequest{Path: "oven.nothing", Value: gateway.Of(1.0)}, gateway.KindNotFound},
			{"read-only", put, gateway.PutRequest{Path: "oven.actual", Value: gateway.Of(1.0)}, gateway.KindReadOnly},
			{"put to a command", put, gateway.PutRequest{Path: "oven.cancel", Value: gateway.Of(true)}, gateway.KindReadOnly},
			{"no value", put, gateway.PutRequest{Path: "oven.ramp"}, gateway.KindWrongType},
			{"wrong type", put, gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of("1")}, gateway.KindWrongType},
			{"out of range", put, gateway.PutRequest{Path: "oven.limited", Value: gateway.Of(11.0)}, gateway.KindOutOfRange},
			{"no such state", put, gateway.PutRequest{Path: "oven.mode", Value: gateway.EnumOf(2)}, gateway.KindNotALabel},
			{"negative budget", put, gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(1.0), Budget: -1}, gateway.KindMalformed},
			{"endless budget", put, gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(1.0), Budget: time.Hour}, gateway.KindMalformed},
			{"execute an attribute", execute, ramp(1), gateway.KindNotFound},
			{"argument for none", execute, gateway.PutRequest{Path: "oven.cancel", Value: gateway.Of(int32(1))}, gateway.KindWrongType},
			{"no argument", execute, gateway.PutRequest{Path: "oven.move"}, gateway.KindWrongType},
			{"refresh nothing", refresh, gateway.PutRequest{Path: "oven.nothing"}, gateway.KindNotFound},
			{"refresh what is write-only", refresh, gateway.PutRequest{Path: "oven.level"}, gateway.KindWriteOnly},
			{"refresh a command", refresh, gateway.PutRequest{Path: "oven.cancel"}, gateway.KindWriteOnly},
			{"refresh with a value", refresh, ramp(1), gateway.KindWrongType},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				p, err := tt.do(tt.r)
				if p != nil {
					t.Errorf("got a pending put")
				}
				wantKind(t, err, tt.want)
				if e := gateway.AsError(err); e == nil || e.Stage != gateway.StageRefused {
					t.Errorf("stage of %v is not refused", err)
				}
			})
		}
		if n := len(oven.Puts()); n != 0 {
			t.Errorf("%d puts reached the device", n)
		}
	})
}

func TestExecuteRunsACommand(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.OnPut(func(d *hubtest.Device, p *gateway.Put) {
			d.Accept(p)
			d.Finish(p, gateway.Verdict{Stage: gateway.StageAcknowledged, Result: gateway.Of("done")})
		})
		synctest.Wait()
		p, err := w.view.Execute(gateway.PutRequest{Path: "oven.cancel"})
		if err != nil {
			t.Fatal(err)
		}
		v := gateway.Wait(context.Background(), p)
		if v.Err != nil || v.Result.Text() != "done" {
			t.Errorf("verdict %+v", v)
		}
	})
}

func TestARefreshGoesTheWayOfAPut(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.OnPut(func(d *hubtest.Device, p *gateway.Put) {
			d.Set(p.Path, gateway.Of(7.0))
			d.Finish(p, gateway.Verdict{Stage: gateway.StageVerified})
		})
		synctest.Wait()
		stream, _ := w.watch(gateway.StreamOptions{}, gateway.WatchOptions{Match: gateway.PatternOf("oven.ramp")})
		take(stream)
		p, err := w.view.Refresh(gateway.PutRequest{Path: "oven.ramp", Budget: time.Minute, Urgent: true})
		if err != nil {
			t.Fatal(err)
		}
		v := gateway.Wait(context.Background(), p)
		a, _ := w.view.Get("oven.ramp")
		if v.Err != nil || a.Readback.Value.Float() != 7 || v.Readback != a.Readback || a.Setpoint != gateway.NeverRead {
			t.Errorf("verdict %+v, readback %+v, setpoint %+v", v, a.Readback, a.Setpoint)
		}
		if got := describe(take(stream)); got != "sample oven.ramp 7" {
			t.Errorf("the watch saw %s", got)
		}
		sent := oven.Puts()[0]
		if !sent.Refresh || !sent.Urgent || sent.Value.Known() || sent.Budget != time.Minute-time.Second {
			t.Errorf("the device got %+v", sent)
		}
	})
}

func TestPutToALostDeviceIsTheDriversToAnswer(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.SetState(false, "unplugged")
		oven.OnPut(func(d *hubtest.Device, p *gateway.Put) { d.Refuse(p, gateway.KindNotConnected, "unplugged") })
		w.get("oven.ramp")
		p, err := w.view.Put(ramp(1))
		if err != nil {
			t.Fatal(err)
		}
		v := gateway.Wait(context.Background(), p)
		if v.Stage != gateway.StageRefused || v.Err.Kind != gateway.KindNotConnected {
			t.Errorf("verdict %+v", v)
		}
		if a := w.get("oven.ramp"); a.Setpoint != gateway.NeverRead {
			t.Error("a refusal changed the setpoint")
		}
	})
}

func TestPutThatNobodyListensTo(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		synctest.Wait()
		oven.Restart(false) // and has not said so yet
		p, err := w.view.Put(ramp(1))
		if err != nil {
			t.Fatal(err)
		}
		if v := gateway.Wait(context.Background(), p); v.Err == nil || v.Err.Kind != gateway.KindNotConnected {
			t.Errorf("verdict %+v", v)
		}
	})
}

func TestAcceptedComesWithTheSetpoint(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		var held *gateway.Put
		oven.OnPut(func(_ *hubtest.Device, p *gateway.Put) { held = p })
		synctest.Wait()
		p, err := w.view.Put(ramp(7))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if isClosed(p.Accepted()) {
			t.Fatal("accepted before the driver said so")
		}
		oven.Accept(held)
		<-p.Accepted()
		if a, _ := w.view.Get("oven.ramp"); a.Setpoint.Value.Float() != 7 {
			t.Errorf("setpoint is %v when accepted", a.Setpoint.Value)
		}
		if isClosed(p.Done()) {
			t.Fatal("done before the verdict")
		}
		oven.Reject(held, "too hot")
		v := gateway.Wait(context.Background(), p)
		if v.Err.Kind != gateway.KindRefusedByDevice || v.Err.DeviceWords != "too hot" {
			t.Errorf("verdict %+v", v)
		}
		if a := w.get("oven.ramp"); a.Setpoint.Alarm.Status != gateway.StatusWrite || a.Setpoint.Value.Float() != 7 {
			t.Errorf("after a failure: setpoint %v with %+v", a.Setpoint.Value, a.Setpoint.Alarm)
		}
	})
}

func TestBudgetsNest(t *testing.T) {
	for _, budget := range []time.Duration{0, 100 * time.Millisecond, time.Second, 10 * time.Minute} {
		inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
			oven.OnPut(func(*hubtest.Device, *gateway.Put) {})
			synctest.Wait()
			began := time.Now()
			r := ramp(1)
			r.Budget = budget
			p, err := w.view.Put(r)
			if err != nil {
				t.Fatal(err)
			}
			v := gateway.Wait(context.Background(), p)
			took := time.Since(began)
			if budget == 0 {
				budget = gateway.DefaultBudget
			}
			if atDriver := oven.Puts()[0].Budget; !(0 < atDriver && atDriver < took && took < budget) {
				t.Errorf("budget %v: driver has %v, hub waited %v", budget, atDriver, took)
			}
			if v.Err.Kind != gateway.KindUnknownOutcome || v.Stage != gateway.StageSent || !isClosed(p.Accepted()) {
				t.Errorf("verdict %+v", v)
			}
			// What comes too late is applied, and is nobody's verdict any more.
			hubtest.Comply(oven, oven.Puts()[0])
			w.wantValue("oven.ramp", 1)
			if got := p.Verdict(); got.Err != v.Err {
				t.Errorf("verdict changed to %+v", got)
			}
			if n := w.hub.Stats().PendingPuts; n != 0 {
				t.Errorf("%d puts are still pending", n)
			}
		})
	}
}

func TestDuplicateAndForeignVerdictsAreIgnored(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.OnPut(func(d *hubtest.Device, p *gateway.Put) {
			foreign := *p
			foreign.ID.Hub++
			d.Refuse(&foreign, gateway.KindInternal, "not for this hub")
			hubtest.Comply(d, p)
			d.Refuse(p, gateway.KindInternal, "second verdict")
		})
		synctest.Wait()
		p, err := w.view.Put(ramp(1))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if v := p.Verdict(); v.Err != nil {
			t.Errorf("verdict %+v", v)
		}
	})
}

func TestPutsUnderWayAreBounded(t *testing.T) {
	inWorld(t, hub.Options{MaxPuts: 5, MaxSessionPuts: 3}, func(w *world, oven *hubtest.Device) {
		oven.OnPut(func(*hubtest.Device, *gateway.Put) {})
		synctest.Wait()
		put := func(s gateway.Session, want gateway.ErrorKind) {
			t.Helper()
			_, err := s.Put(ramp(1))
			wantKind(t, err, want)
		}
		one, two := w.hub.For(gateway.Caller{}), w.hub.For(gateway.Caller{})
		for range 3 {
			put(one, gateway.KindOK)
		}
		put(one, gateway.KindBusy)
		put(two, gateway.KindOK)
		put(two, gateway.KindOK)
		put(two, gateway.KindBusy)
		for _, p := range oven.Puts() {
			hubtest.Comply(oven, p)
		}
		synctest.Wait()
		put(one, gateway.KindOK)
		put(two, gateway.KindOK)
	})
}

func TestPutsEndWithTheirOwner(t *testing.T) {
	ends := map[string]func(*world, *hubtest.Device){
		"another owner announces": func(_ *world, d *hubtest.Device) { d.Restart(false); d.Announce() },
		"another owner speaks":    func(_ *world, d *hubtest.Device) { d.Restart(false); d.Heartbeat() },
		"the owner leaves":        func(_ *world, d *hubtest.Device) { d.Leave("") },
		"the hub stops":           func(w *world, _ *hubtest.Device) { w.stop() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
				oven.OnPut(func(*hubtest.Device, *gateway.Put) {})
				synctest.Wait()
				p, err := w.view.Put(ramp(1))
				if err != nil {
					t.Fatal(err)
				}
				end(w, oven)
				synctest.Wait()
				if !isClosed(p.Done()) || !isClosed(p.Accepted()) {
					t.Fatal("the put did not end")
				}
				if v := p.Verdict(); v.Err.Kind != gateway.KindUnknownOutcome || v.Err.Stage != gateway.StageSent {
					t.Errorf("verdict %+v", v)
				}
			})
		})
	}
}

func TestDrainLetsRunningPutsFinish(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.OnPut(func(*hubtest.Device, *gateway.Put) {})
		synctest.Wait()
		p, err := w.view.Put(ramp(1))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := w.hub.Drain(ctx); err == nil {
			t.Error("drained while a put was under way")
		}
		_, err = w.view.Put(ramp(2))
		wantKind(t, err, gateway.KindShuttingDown)
		hubtest.Comply(oven, oven.Puts()[0])
		if err := w.hub.Drain(context.Background()); err != nil {
			t.Error(err)
		}
		if v := p.Verdict(); v.Err != nil {
			t.Errorf("verdict %+v", v)
		}
	})
}

func TestAfterTheEnd(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.Set("oven.actual", gateway.Of(1.0))
		s, _ := w.watch(gateway.StreamOptions{}, all())
		synctest.Wait()
		if err := w.hub.Alive(context.Background()); err != nil {
			t.Errorf("Alive: %v", err)
		}
		w.stop()
		w.wantValue("oven.actual", 1)
		wantEvents(t, s, "added oven.actual, added oven.cancel, added oven.ramp, synced")
		_, err := w.view.Put(ramp(1))
		wantKind(t, err, gateway.KindShuttingDown)
		_, err = s.Watch(all())
		wantKind(t, err, gateway.KindShuttingDown)
		s.Close()
		if err := w.hub.Alive(context.Background()); err == nil {
			t.Error("a hub that has ended is alive")
		}
	})
}

func TestServeReturnsTheErrorOfAClosedBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := hubtest.NewBus()
		h := hub.New(bus, hub.Options{})
		closed := errors.New("closed")
		bus.Fail(closed)
		if err := h.Serve(context.Background()); !errors.Is(err, closed) {
			t.Errorf("Serve: %v", err)
		}
	})
}

// TestReadAfterPut is the promise that a gateway stands on: after the verdict
// the value is there, whoever reads.
func TestReadAfterPut(t *testing.T) {
	bus := hubtest.NewBus()
	oven := hubtest.NewDevice(bus, "oven", ovenDescriptors()...)
	w := runWorld(t, bus, hub.Options{})
	if err := bus.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	answers := make(chan *gateway.Put, 1)
	oven.OnPut(func(_ *hubtest.Device, p *gateway.Put) { answers <- p })
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for p := range answers {
			hubtest.Comply(oven, p)
		}
	}()
	defer func() { close(answers); <-answered }()
	n := 50000
	if testing.Short() {
		n = 1000
	}
	for i := range n {
		want := gateway.Of(float64(i))
		p, err := w.view.Put(gateway.PutRequest{Path: "oven.ramp", Value: want})
		if err != nil {
			t.Fatal(err)
		}
		<-p.Accepted()
		if a, _ := w.view.Get("oven.ramp"); !a.Setpoint.Value.Equal(want) {
			t.Fatalf("put %d: accepted, and the setpoint is %v", i, a.Setpoint.Value.Float())
		}
		<-p.Done()
		if a, _ := w.view.Get("oven.ramp"); !a.Readback.Value.Equal(want) {
			t.Fatalf("put %d: done, and the readback is %v", i, a.Readback.Value.Float())
		}
	}
}

// TestBUS06VerdictAndValueNeverSwap watches as another client does: the value
// is queued before the verdict is known.
func TestBUS06VerdictAndValueNeverSwap(t *testing.T) {
	bus := hubtest.NewBus()
	hubtest.NewDevice(bus, "oven", ovenDescriptors()...)
	w := runWorld(t, bus, hub.Options{})
	if err := bus.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	s := w.view.Open(gateway.StreamOptions{})
	defer s.Close()
	if _, err := s.Watch(gateway.WatchOptions{Match: gateway.PatternOf("oven.ramp"), Roles: gateway.Readback}); err != nil {
		t.Fatal(err)
	}
	for i := range 10000 {
		want := gateway.Of(float64(i))
		p, err := w.view.Put(gateway.PutRequest{Path: "oven.ramp", Value: want})
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		events := s.Take(nil)
		if len(events) == 0 || !events[len(events)-1].Sample().Value.Equal(want) {
			t.Fatalf("put %d is done and its value is not queued: %s", i, describe(events))
		}
	}
}

// Whether a put got through is not known when the bus is lost behind it, and nothing
// more will be heard of it. One that its driver has taken still gets its verdict.
func TestPutsThatNoDriverHasTakenEndWithTheBus(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		synctest.Wait()
		oven.OnPut(func(d *hubtest.Device, p *gateway.Put) {
			if p.Value.Float() == 1 {
				d.Accept(p)
			}
		})
		taken, err := w.view.Put(ramp(1))
		if err != nil {
			t.Fatal(err)
		}
		<-taken.Accepted()
		onTheWay, err := w.view.Put(ramp(2))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		w.bus.SetConnected(gateway.BusState{Since: time.Now(), Words: "nats is away"})
		v := gateway.Wait(context.Background(), onTheWay)
		wantKind(t, v.Err, gateway.KindUnknownOutcome)
		if v.Stage != gateway.StageSent || time.Since(began) != 0 {
			t.Errorf("stage %v after %v", v.Stage, time.Since(began))
		}
		if isClosed(taken.Done()) {
			t.Fatal("a put that was taken has ended")
		}
		w.bus.SetConnected(gateway.BusState{Connected: true, Since: time.Now()})
		oven.Finish(oven.Puts()[0], gateway.Verdict{Stage: gateway.StageAcknowledged})
		if v := gateway.Wait(context.Background(), taken); v.Err != nil {
			t.Errorf("got %v", v.Err)
		}
	})
}
