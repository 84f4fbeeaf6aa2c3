//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/bus/embedded"
)

var busRoundTrip = measure{
	name: "bus", title: "a put to its verdict over the bus in one process, median latency, over a bare NATS request",
	target: "", run: runBus,
}

// runBus compares a put that its owner answers at once with a request of the
// same size through the same broker.
func runBus(b *bench) (outcome, error) {
	broker, err := embedded.Start(embedded.Options{})
	if err != nil {
		return outcome{}, err
	}
	defer broker.Shutdown()
	puts, err := startPuts(broker)
	if err != nil {
		return outcome{}, err
	}
	defer puts.close()
	bare, err := startRequests(broker)
	if err != nil {
		return outcome{}, err
	}
	defer bare.close()
	r, err := compare(b.pairs, puts.median, bare.median)
	if err != nil {
		return outcome{}, err
	}
	return against(r, nil, fmt.Sprintf("%.1f against %.1f µs", r.Subject, r.Reference)), nil
}

// roundTrips is how many round trips make one measurement.
const roundTrips = 500

func medianOf(once func() error) (float64, error) {
	values, err := latenciesOf(once)
	return median(values), err
}

// latenciesOf measures round trips, in µs.
func latenciesOf(once func() error) ([]float64, error) {
	values := make([]float64, roundTrips)
	for i := range values {
		start := time.Now()
		if err := once(); err != nil {
			return nil, err
		}
		values[i] = float64(time.Since(start).Nanoseconds()) / 1e3
	}
	return values, nil
}

type putTrips struct {
	hub, owner   *bus.Conn
	subscription *bus.Subscription
	release      func()
	put          gateway.Put
}

func startPuts(broker *embedded.Broker) (*putTrips, error) {
	p := &putTrips{}
	var err error
	if p.owner, err = bus.Connect(context.Background(), bus.Options{Broker: broker}); err != nil {
		return nil, err
	}
	if p.hub, err = bus.Connect(context.Background(), bus.Options{Broker: broker}); err != nil {
		return nil, err
	}
	if p.subscription, err = p.hub.Subscribe(); err != nil {
		return nil, err
	}
	owner := gateway.Owner{Device: "soft", Instance: "one", Term: 1}
	if p.release, err = p.owner.Own(owner, answering{owner}); err != nil {
		return nil, err
	}
	p.put = gateway.Put{
		ID: gateway.PutID{Hub: 1}, To: owner,
		PutRequest: gateway.PutRequest{Path: "soft.v00000", Value: gateway.Of(1.5), Budget: time.Second},
	}
	return p, nil
}

func (p *putTrips) median() (float64, error) {
	return medianOf(func() error {
		p.put.ID.N++
		if err := p.subscription.SendPut(&p.put); err != nil {
			return err
		}
		for {
			m, err := p.subscription.Receive(context.Background(), nil)
			if err != nil {
				return err
			}
			if v, ok := m.(*gateway.PutVerdict); ok {
				if v.ID != p.put.ID || v.Verdict.Err != nil {
					return fmt.Errorf("verdict %+v for put %v", v, p.put.ID)
				}
				return nil
			}
		}
	})
}

func (p *putTrips) close() {
	p.release()
	p.subscription.Close()
	_ = p.hub.Close()
	_ = p.owner.Close()
}

// answering takes every put at once.
type answering struct{ owner gateway.Owner }

func (a answering) HandlePut(put *gateway.Put, answer func(*gateway.PutVerdict)) {
	now := gateway.TimeOf(time.Now())
	sample := &gateway.Sample{Value: put.Value, Time: now, LastGood: now, Seq: put.ID.N, Mask: gateway.MaskValue}
	answer(&gateway.PutVerdict{
		Owner: a.owner, ID: put.ID, Revision: 1,
		Verdict: gateway.Verdict{Stage: gateway.StageVerified, Setpoint: sample, Readback: sample},
	})
}
func (answering) HandleDescribe()                 {}
func (answering) HandleRival(gateway.Owner, bool) {}
func (answering) HandleBus(gateway.BusState)      {}

// requests is NATS alone: a request and an answer of about a put's size.
type requests struct {
	asks, answers *nats.Conn
}

func startRequests(broker *embedded.Broker) (*requests, error) {
	connect := func() (*nats.Conn, error) { return nats.Connect("", nats.InProcessServer(broker)) }
	answers, err := connect()
	if err != nil {
		return nil, err
	}
	asks, err := connect()
	if err != nil {
		return nil, err
	}
	answer := make([]byte, 100)
	if _, err := answers.Subscribe("bare", func(m *nats.Msg) { _ = m.Respond(answer) }); err != nil {
		return nil, err
	}
	return &requests{asks, answers}, answers.Flush()
}

func (r *requests) median() (float64, error) { return medianOf(r.once) }

func (r *requests) latencies() ([]float64, error) { return latenciesOf(r.once) }

func (r *requests) once() error {
	_, err := r.asks.Request("bare", make([]byte, 60), time.Second)
	return err
}

func (r *requests) close() {
	r.asks.Close()
	r.answers.Close()
}
