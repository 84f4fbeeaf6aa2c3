package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/bus/embedded"
	"github.com/polygate/gateway/bus/lease"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/internal/app"
	"github.com/polygate/gateway/internal/ops"
)

// Heartbeats tell hubs in other processes that a driver is alive. A hub gives a
// driver up after three that did not come.
const (
	heartbeat        = time.Second
	heartbeatTimeout = 3*heartbeat + heartbeat/2
)

// reclaimAfter is how long another owner of a device must have been silent
// before this process takes the device again.
const reclaimAfter = 5 * time.Second

// A process is everything that one gateway runs, built and not started.
type process struct {
	log       zerolog.Logger
	bus       *busPart
	hub       *hub.Hub     // nil in a process without frontends
	lease     *lease.Lease // nil if none is asked for
	lines     []*link.Line
	devices   []*device.Supervisor
	frontends []namedFrontend
	ops       *ops.Server // nil if switched off
}

type namedFrontend struct {
	name string
	frontend
}

// build makes all parts of a plan. It opens nothing.
func build(f *file, log zerolog.Logger) (*process, error) {
	p := &process{log: log, bus: &busPart{config: f.bus, hears: len(f.frontends) > 0, log: component(log, "bus")}}
	if len(f.frontends) > 0 {
		options := hub.Options{}
		if shared(f.bus) {
			options.HeartbeatTimeout = heartbeatTimeout
		}
		p.hub = hub.New(p.bus, options)
	}
	for _, planned := range f.frontends {
		p.frontends = append(p.frontends, namedFrontend{planned.name, planned.config.build(p.hub, component(log, planned.name))})
	}
	if err := p.buildDevices(f); err != nil {
		return nil, err
	}
	if f.ops.Listen != "" {
		p.ops = ops.New(f.ops, p.sources(), component(log, "ops"))
	}
	return p, nil
}

// shared reports whether other processes are on the bus.
func shared(c bus.Config) bool { return c.URL != "" || c.Listen != "" }

func component(log zerolog.Logger, name string) zerolog.Logger {
	return log.With().Str("component", name).Logger()
}

// buildDevices makes the lines that are used, and the devices on them.
func (p *process) buildDevices(f *file) error {
	options := device.Options{Log: p.log, Reclaim: reclaimAfter}
	if shared(f.bus) {
		options.Heartbeat = heartbeat
	}
	var guards []link.Option
	if f.bus.Lease != "" && len(f.devices) > 0 {
		p.lease = lease.New(func() *bus.Conn { return p.bus.conn }, lease.Options{
			Prefix: cmp.Or(f.bus.Prefix, bus.DefaultPrefix), Name: f.bus.Lease, Log: component(p.log, "lease"),
		})
		options.Lease = p.lease
		guards = append(guards, link.Guarded(p.lease.Check))
	}
	built, together := map[string]*link.Line{}, &lines{}
	for _, planned := range f.devices {
		line := built[planned.link]
		if line == nil && planned.link != "" {
			line = f.line(planned.link, guards...)
			built[planned.link] = line
			p.lines = append(p.lines, line)
		}
		driver, err := planned.config.build(f.site(planned, line, together, component(p.log, "driver")))
		if err != nil {
			return err
		}
		supervisor, err := device.New(planned.name, driver, deviceBus{p.bus}, options)
		if err != nil {
			return err
		}
		p.devices = append(p.devices, supervisor)
	}
	return nil
}

// groups is the order of start; its reverse is the order of stop: frontends,
// drivers, lines, lease, hub, bus and broker. Nobody talks to an instrument any
// more when the lease is given back. The operations listener comes first and
// goes last, so that probes are answered throughout.
func (p *process) groups() []app.Group {
	var groups []app.Group
	if p.ops != nil {
		groups = append(groups, app.Group{Parts: []app.Named{{Name: "ops", Part: p.ops}}})
	}
	groups = append(groups, app.Group{Parts: []app.Named{{Name: "bus", Part: p.bus}}})
	if p.hub != nil {
		groups = append(groups, app.Group{Parts: []app.Named{{Name: "hub", Part: serving{p.hub.Serve}}}})
	}
	if p.lease != nil {
		groups = append(groups, app.Group{Parts: []app.Named{{Name: "lease", Part: p.lease}}})
	}
	var lines, devices, frontends app.Group
	for _, line := range p.lines {
		lines.Parts = append(lines.Parts, app.Named{Name: "link " + line.Name(), Part: serving{line.Serve}},
			app.Named{Name: "traces of " + line.Name(), Part: p.tracing(line)})
	}
	for _, d := range p.devices {
		devices.Parts = append(devices.Parts, app.Named{Name: "device " + d.Name(), Part: serving{d.Serve}})
	}
	for _, f := range p.frontends {
		frontends.Parts = append(frontends.Parts, app.Named{Name: f.name, Part: f})
	}
	frontends.Drain = p.drain
	return append(groups, lines, devices, frontends)
}

// drainLimit is how long puts under way may take when the gateway stops.
const drainLimit = 4 * time.Second

// drain takes no new puts and lets those under way end.
func (p *process) drain(ctx context.Context) {
	if p.hub == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, drainLimit)
	defer cancel()
	if err := p.hub.Drain(ctx); err != nil {
		p.log.Warn().Err(err).Msg("stopping although puts are under way")
	}
}

// run starts everything and blocks until ctx ends and everything has stopped.
func (p *process) run(ctx context.Context, ready func()) error {
	return app.Run(ctx, p.log, p.groups(), ready)
}

// serving is a part that binds nothing.
type serving struct {
	serve func(context.Context) error
}

func (serving) Listen(context.Context) error      { return nil }
func (s serving) Serve(ctx context.Context) error { return s.serve(ctx) }

// busPart is the connection to the bus, with the broker in this process if the
// bus is not outside. Hub and devices get it before it is connected; they use
// it once they serve, which is after its Listen.
type busPart struct {
	config bus.Config
	hears  bool // there is a hub, which takes what comes
	log    zerolog.Logger

	broker            *embedded.Broker
	conn              *bus.Conn
	*bus.Subscription // of the hub; nil without one
}

// Listen starts the broker if there is one, and connects.
func (b *busPart) Listen(ctx context.Context) error {
	options := bus.Options{Config: b.config, Name: "polygate", Logger: b.log}
	if b.config.URL == "" {
		broker, err := embedded.Start(embedded.Options{
			Listen: b.config.Listen, MaxPayload: b.config.MaxPayload,
			User: b.config.User, Password: b.config.Password, Token: b.config.Token, Logger: b.log,
		})
		if err != nil {
			return fmt.Errorf("%w (bus.url names a NATS outside)", err)
		}
		b.broker, options.Broker = broker, broker
	}
	conn, err := bus.Connect(ctx, options)
	if err == nil {
		b.conn = conn
		if b.hears {
			b.Subscription, err = conn.Subscribe()
		}
	}
	if err != nil {
		b.close()
		return err
	}
	return nil
}

// Serve keeps the connection until ctx ends.
func (b *busPart) Serve(ctx context.Context) error {
	<-ctx.Done()
	return b.close()
}

func (b *busPart) close() error {
	var err error
	if b.Subscription != nil {
		b.Subscription.Close()
	}
	if b.conn != nil {
		err = b.conn.Close()
	}
	if b.broker != nil {
		b.broker.Shutdown()
	}
	return err
}

// deviceBus gives the bus the shape that package device asks for.
type deviceBus struct{ part *busPart }

var (
	_ device.Bus = deviceBus{}
	_ hub.Bus    = (*busPart)(nil)
)

func (b deviceBus) Announce(a *gateway.Announcement) error { return b.part.conn.Announce(a) }
func (b deviceBus) Update(u *gateway.Update) error         { return b.part.conn.Update(u) }
func (b deviceBus) State(s *gateway.DeviceState) error     { return b.part.conn.State(s) }

func (b deviceBus) Own(owner gateway.Owner, h device.Handler) (release func(), err error) {
	return b.part.conn.Own(owner, h)
}
