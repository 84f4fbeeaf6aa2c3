package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/describe"
)

// CountersConfig describes a signal source for load: a device with Count
// attributes CALC00000, CALC00001, ... that add 1 Rate times a second.
type CountersConfig struct {
	Count int     `yaml:"count" json:"count"`
	Rate  float64 `yaml:"rate" json:"rate,omitempty"` // in Hz; 10 where it is not set
	// Polls spreads the counters over so many exchanges; 1 where it is not
	// set: all change in one update.
	Polls int `yaml:"polls" json:"polls,omitempty"`
}

// MaxCounters is the largest CountersConfig.Count and SoftConfig.Count.
const MaxCounters = 100_000

// Check returns everything that is wrong with the configuration of a device.
func (c *CountersConfig) Check(string) []describe.Problem {
	var problems []describe.Problem
	root := describe.Root(&problems)
	if c.Count < 1 || c.Count > MaxCounters {
		root.In("count").Errorf("%d counters: want 1 to %d", c.Count, MaxCounters)
	}
	if c.Rate != 0 && !(c.Rate >= 0.001 && c.Rate <= 1000) {
		root.In("rate").Errorf("%v Hz: want 0.001 to 1000", c.Rate)
	}
	if c.Polls < 0 || c.Polls > max(c.Count, 1) {
		root.In("polls").Errorf("%d exchanges for %d counters: want 1 to as many as there are counters", c.Polls, c.Count)
	}
	return problems
}

// Counters is the driver of a signal source. Every poll adds 1 to each of its
// counters, so a reader that sees all samples sees all numbers, however late a
// poll is. Each is in MINOR alarm, and each poll is published.
type Counters struct {
	model  device.Model
	counts []float64 // of each poll
	now    func() time.Time
}

var _ device.Driver = (*Counters)(nil)

// counting is the alarm that all counters are in.
var counting = gateway.Alarm{Severity: gateway.Minor, Status: gateway.StatusHigh, Text: "a counter is always in alarm"}

// NewCounters returns the driver of device name. Readings are stamped with now.
func NewCounters(name string, c CountersConfig, now func() time.Time) (*Counters, error) {
	if problems := c.Check(name); len(problems) > 0 {
		return nil, fmt.Errorf("counters %s: %s", name, problems[0])
	}
	if c.Rate == 0 {
		c.Rate = 10
	}
	polls := max(c.Polls, 1)
	period := time.Duration(float64(time.Second) / c.Rate)
	d := &Counters{counts: make([]float64, polls), now: now}
	d.model.Info = gateway.DeviceInfo{Description: "Signal source", Driver: "counters"}
	d.model.Polls = make([]device.Poll, polls)
	for p := range d.model.Polls {
		d.model.Polls[p].Period = period
	}
	for i := range c.Count {
		path, err := gateway.ParsePath(fmt.Sprintf("%s.CALC%05d", name, i))
		if err != nil {
			return nil, fmt.Errorf("counters %s: %w", name, err)
		}
		d.model.Attributes = append(d.model.Attributes, gateway.Descriptor{
			Path: path,
			Traits: &gateway.Traits{
				Access: gateway.AccessRead,
				Type:   gateway.Type{Kind: gateway.Float64},
				Poll:   period,
				Always: true,
			},
		})
		poll := &d.model.Polls[i*polls/c.Count]
		poll.Indices = append(poll.Indices, i)
	}
	return d, nil
}

// Model returns the counters.
func (d *Counters) Model() device.Model { return d.model }

// Connect has nothing to wait for.
func (d *Counters) Connect(context.Context, device.Sink) error { return nil }

// Poll adds 1 to the counters of the poll.
func (d *Counters) Poll(_ context.Context, poll int, into []device.Reading) ([]device.Reading, error) {
	d.counts[poll]++
	value, now := gateway.Of(d.counts[poll]), d.now()
	for _, index := range d.model.Polls[poll].Indices {
		into = append(into, device.Reading{Index: index, Role: gateway.Readback, Value: value, Time: now, Alarm: counting})
	}
	return into, nil
}

// Put refuses: a counter cannot be written.
func (d *Counters) Put(context.Context, int, gateway.Value) device.Outcome {
	return device.Outcome{Stage: gateway.StageAccepted, Err: gateway.Errorf(gateway.KindInternal, "a counter has no setpoint")}
}

// Refresh returns the counter as it stands.
func (d *Counters) Refresh(_ context.Context, index int, into []device.Reading) ([]device.Reading, error) {
	poll := index * len(d.counts) / len(d.model.Attributes)
	return append(into, device.Reading{
		Index: index, Role: gateway.Readback, Value: gateway.Of(d.counts[poll]), Time: d.now(), Alarm: counting,
	}), nil
}

// Close has nothing to give back.
func (d *Counters) Close() error { return nil }
