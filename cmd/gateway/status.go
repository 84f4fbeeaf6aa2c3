package main

import (
	"context"
	"net/http"
	"strconv"

	"github.com/polygate/gateway/bus/lease"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/internal/ops"
)

// sources tell the operations pages what there is. Every figure is read from
// its part when somebody asks.
func (p *process) sources() ops.Sources {
	return ops.Sources{
		Alive:   p.alive,
		Ready:   p.conditions,
		Status:  p.status,
		Metrics: ops.NewRegistry(p.families()),
		Streams: map[string]http.HandlerFunc{"GET /trace/{link}": p.trace},
	}
}

func (p *process) alive(ctx context.Context) error {
	if p.hub == nil {
		return nil
	}
	return p.hub.Alive(ctx)
}

// conditions tell "the gateway works" from "a device is away".
func (p *process) conditions() []ops.Condition {
	if p.bus.conn == nil {
		return []ops.Condition{{Name: "bus", Words: "not started yet"}}
	}
	bus := p.bus.conn.BusState()
	conditions := []ops.Condition{{Name: "bus", OK: bus.Connected, Words: bus.Words}}
	if p.lease != nil {
		conditions = append(conditions, leaseCondition(p.lease.Status()))
	}
	for _, d := range p.devices {
		stats := d.Stats()
		conditions = append(conditions, ops.Condition{
			Name: "device " + d.Name(), OK: stats.Connected || stats.Standby, Degraded: true, Words: stats.Words,
		})
	}
	return conditions
}

// leaseCondition: to stand by is as good as to hold the lease.
func leaseCondition(s lease.Status) ops.Condition {
	c := ops.Condition{Name: "lease " + s.Name, OK: s.Fault == "", Words: s.Fault}
	switch {
	case s.Held:
		c.OK, c.Words = true, "held by this process"
	case s.Fault == "" && s.Holder != "":
		c.Words = "standing by: held by " + s.Holder
	case s.Fault == "":
		c.Words = "standing by"
	}
	return c
}

func (p *process) status() map[string]any {
	status := map[string]any{"version": versionText()}
	if p.bus.conn != nil {
		status["bus"] = p.bus.conn.Stats()
	}
	if p.hub != nil {
		status["hub"] = map[string]any{"counters": p.hub.Stats(), "clients": p.hub.Clients()}
	}
	if p.lease != nil {
		status["lease"] = p.lease.Status()
	}
	devices := map[string]any{}
	for _, d := range p.devices {
		devices[d.Name()] = deviceStatus(d.Stats())
	}
	status["devices"] = devices
	links := map[string]any{}
	for _, line := range p.lines {
		links[line.Name()] = linkStatus(line)
	}
	status["links"] = links
	frontends := map[string]any{}
	for _, f := range p.frontends {
		frontends[f.name] = f.Status()
	}
	status["frontends"] = frontends
	return status
}

// deviceStatus gives names to what the counters are indexed with.
func deviceStatus(s device.Stats) any {
	errors, puts := map[string]uint64{}, map[string]uint64{}
	for status, n := range s.Errors {
		errors[status.String()] = n
	}
	for stage, n := range s.Puts {
		puts[stage.String()] = n
	}
	polls := make([]map[string]any, len(s.Polls))
	for i, poll := range s.Polls {
		polls[i] = map[string]any{
			"attributes": poll.Attributes, "wanted": poll.Wanted.String(), "achieved": poll.Achieved.String(),
			"exchanges": poll.Exchanges, "skipped": poll.Skipped, "last_exchange": poll.Exchange.String(),
		}
	}
	return map[string]any{
		"owner": s.Owner.Instance, "term": s.Owner.Term, "stood_down": s.StoodDown, "standby": s.Standby,
		"connected": s.Connected, "since": s.Since, "words": s.Words, "stale": s.Stale,
		"connects": s.Connects, "losses": s.Losses, "queued_puts": s.Queued, "unsent": s.Unsent,
		"errors": errors, "puts": puts, "polls": polls,
	}
}

func linkStatus(line *link.Line) any {
	state, counters := line.State(), line.Counters()
	return map[string]any{
		"address": line.String(), "connected": state.Connected, "since": state.Since, "words": state.Words,
		"attempts": state.Attempts, "losses": state.Losses,
		"bytes_in": counters.BytesIn, "bytes_out": counters.BytesOut, "exchanges": counters.Exchanges, "discarded": counters.Discarded,
		"traces": counters.Traces, "traced_bytes": counters.Traced,
	}
}

type emit = func(value float64, labels ...string)

// families are the metrics.
func (p *process) families() []ops.Family {
	families := []ops.Family{
		{
			Name: "polygate_info", Help: "The version that runs.", Labels: []string{"version"},
			Read: func(e emit) { e(1, versionText()) },
		},
		{
			Name: "polygate_bus_connected", Help: "Whether the bus is connected.",
			Read: p.busValue(func(e emit) { e(truth(p.bus.conn.BusState().Connected)) }),
		},
		{
			Name: "polygate_bus_messages_total", Help: "Messages over the bus.", Counter: true, Labels: []string{"direction"},
			Read: p.busValue(func(e emit) {
				s := p.bus.conn.Stats()
				e(float64(s.InMsgs), "in")
				e(float64(s.OutMsgs), "out")
			}),
		},
		{
			Name: "polygate_bus_bytes_total", Help: "Bytes of payload over the bus.", Counter: true, Labels: []string{"direction"},
			Read: p.busValue(func(e emit) {
				s := p.bus.conn.Stats()
				e(float64(s.InBytes), "in")
				e(float64(s.OutBytes), "out")
			}),
		},
		{
			Name: "polygate_bus_dropped_total", Help: "Messages lost on the bus.", Counter: true,
			Read: p.busValue(func(e emit) { e(float64(p.bus.conn.Stats().Dropped)) }),
		},
		{
			Name: "polygate_bus_reconnects_total", Help: "Reconnects to the bus.", Counter: true,
			Read: p.busValue(func(e emit) { e(float64(p.bus.conn.Stats().Reconnects)) }),
		},
	}
	if p.lease != nil {
		families = append(families, ops.Family{
			Name: "polygate_lease_held", Help: "Whether this process holds the lease on its instruments.", Labels: []string{"lease"},
			Read: func(e emit) {
				s := p.lease.Status()
				e(truth(s.Held), s.Name)
			},
		})
	}
	return append(append(append(families, p.hubFamilies()...), p.deviceFamilies()...), p.linkFamilies()...)
}

// busValue leaves a family out until there is a connection to ask.
func (p *process) busValue(read func(emit)) func(emit) {
	return func(e emit) {
		if p.bus.conn != nil {
			read(e)
		}
	}
}

func (p *process) hubFamilies() []ops.Family {
	if p.hub == nil {
		return nil
	}
	return []ops.Family{
		{
			Name: "polygate_attributes", Help: "Attributes and commands in the table.",
			Read: ops.Value(func() float64 { return float64(p.hub.Stats().Attributes) }),
		},
		{
			Name: "polygate_streams", Help: "Open streams of all frontends.",
			Read: ops.Value(func() float64 { return float64(p.hub.Stats().Streams) }),
		},
		{
			Name: "polygate_events_total", Help: "Changes of the table.", Counter: true,
			Read: ops.Value(func() float64 { return float64(p.hub.Stats().Events) }),
		},
		{
			Name: "polygate_puts_pending", Help: "Puts under way.",
			Read: ops.Value(func() float64 { return float64(p.hub.Stats().PendingPuts) }),
		},
		{
			Name: "polygate_stream_queued_events", Help: "Events that wait for slow readers.",
			Read: func(e emit) {
				queued := 0
				for _, client := range p.hub.Clients() {
					queued += client.Queued
				}
				e(float64(queued))
			},
		},
	}
}

// deviceFamilies leave out devices that another process has the lease of: it tells of them.
func (p *process) deviceFamilies() []ops.Family {
	each := func(read func(s device.Stats, e emit)) func(emit) {
		return func(e emit) {
			for _, d := range p.devices {
				if stats := d.Stats(); !stats.Standby {
					read(stats, e)
				}
			}
		}
	}
	return []ops.Family{
		{
			Name: "polygate_device_connected", Help: "Whether the device answers.", Labels: []string{"device"},
			Read: each(func(s device.Stats, e emit) { e(truth(s.Connected), s.Name) }),
		},
		{
			Name: "polygate_device_stale_attributes", Help: "Attributes whose polls are overdue.", Labels: []string{"device"},
			Read: each(func(s device.Stats, e emit) { e(float64(s.Stale), s.Name) }),
		},
		{
			Name: "polygate_device_losses_total", Help: "How often the device was lost.", Counter: true, Labels: []string{"device"},
			Read: each(func(s device.Stats, e emit) { e(float64(s.Losses), s.Name) }),
		},
		{
			Name: "polygate_device_errors_total", Help: "Failed readings by alarm status.", Counter: true, Labels: []string{"device", "status"},
			Read: each(func(s device.Stats, e emit) {
				for status, n := range s.Errors {
					e(float64(n), s.Name, status.String())
				}
			}),
		},
		{
			Name: "polygate_device_puts_total", Help: "Puts by how far they came.", Counter: true, Labels: []string{"device", "stage"},
			Read: each(func(s device.Stats, e emit) {
				for stage, n := range s.Puts {
					e(float64(n), s.Name, stage.String())
				}
			}),
		},
		{
			Name: "polygate_poll_period_seconds", Help: "Period of a poll, wanted and achieved.", Labels: []string{"device", "poll", "which"},
			Read: each(func(s device.Stats, e emit) {
				for i, poll := range s.Polls {
					e(poll.Wanted.Seconds(), s.Name, strconv.Itoa(i), "wanted")
					e(poll.Achieved.Seconds(), s.Name, strconv.Itoa(i), "achieved")
				}
			}),
		},
	}
}

func (p *process) linkFamilies() []ops.Family {
	return []ops.Family{
		{
			Name: "polygate_link_connected", Help: "Whether the link is open.", Labels: []string{"link"},
			Read: func(e emit) {
				for _, line := range p.lines {
					e(truth(line.State().Connected), line.Name())
				}
			},
		},
		{
			Name: "polygate_link_bytes_total", Help: "Bytes over the link.", Counter: true, Labels: []string{"link", "direction"},
			Read: func(e emit) {
				for _, line := range p.lines {
					counters := line.Counters()
					e(float64(counters.BytesIn), line.Name(), "in")
					e(float64(counters.BytesOut), line.Name(), "out")
				}
			},
		},
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
