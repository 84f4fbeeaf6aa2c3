package modbus

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/describe"
	"github.com/polygate/gateway/device/modbus/pdu"
)

// A plan is a compiled configuration. It does not change.
type plan struct {
	model  device.Model
	blocks []*block
	polls  []*block // of the model's polls
	items  []item   // of the model's attributes

	overTCP bool
	unit    byte

	replyTimeout, readTimeout, quietTime time.Duration
	silence                              time.Duration // 0 if it follows from the line
}

// An item is what the driver knows of an attribute.
type item struct {
	span
	codec          codec
	readable       bool
	readBack       bool
	period, maxAge time.Duration
	write          writeMode
	connect        onConnect
}

// A writeMode is the function by which something is written.
type writeMode uint8

const (
	writeSingle writeMode = iota // where it is a single one
	writeMultiple
	writeMask
)

// onConnect says what happens to an rw attribute on each connect.
type onConnect uint8

const (
	connectRead onConnect = iota
	connectPush
	connectNone
)

// maxDuration bounds every time in the file; more is a slip of the pen.
const maxDuration = time.Hour

// A compiler collects a plan and what is wrong with it.
type compiler struct {
	config *Config
	device string
	root   describe.Place
	plan   *plan
}

// Check compiles the configuration of a device and returns everything that is
// wrong with it.
func (c *Config) Check(device string) []describe.Problem {
	_, problems := c.compile(device)
	return problems
}

// compile makes the plan of the configuration. The plan is usable if no
// problem is an error.
func (c *Config) compile(name string) (*plan, []describe.Problem) {
	var problems []describe.Problem
	k := &compiler{config: c, device: name, root: describe.Root(&problems), plan: &plan{}}
	if err := gateway.CheckSegment(name); err != nil {
		k.root.Errorf("the name of a device is one segment: %v", err)
	}
	k.unit()
	for _, name := range slices.Sorted(maps.Keys(c.Attributes)) {
		a := c.Attributes[name]
		k.attribute(name, &a, k.root.In("attributes", name))
	}
	if len(c.Attributes) == 0 {
		k.root.Errorf("a device needs attributes")
	}
	k.combine()
	return k.plan, problems
}

// unit compiles what the whole device has in common.
func (k *compiler) unit() {
	c, p := k.config, k.plan
	p.model.Info = gateway.DeviceInfo{Description: c.Description, Driver: "modbus"}
	if c.CA.Prefix != "" {
		p.model.Info.Annotations = map[string]string{describe.AnnotationCAPrefix: c.CA.Prefix}
	}
	first, last := 0, 255
	switch c.Framing {
	case "tcp":
		p.overTCP = true
	case "rtu":
		first, last = 1, 247 // 0 is for all and nobody answers it; the others are reserved (serial line, section 2.2).
	case "":
		k.root.Errorf("framing is missing: rtu on a serial line or behind a converter that passes frames on as they are, tcp for Modbus TCP")
	default:
		k.root.In("framing").Errorf("%q is neither rtu nor tcp", c.Framing)
	}
	unit := 1
	if c.Unit != nil {
		unit = *c.Unit
	}
	if unit < first || unit > last {
		k.root.In("unit").Errorf("there is no unit %d: want %d to %d", unit, first, last)
	}
	p.unit = byte(unit)
	p.replyTimeout = k.duration(c.ReplyTimeout, DefaultReplyTimeout, "reply_timeout")
	p.readTimeout = k.duration(c.ReadTimeout, DefaultReadTimeout, "read_timeout")
	p.quietTime = k.duration(c.QuietTime, p.replyTimeout/2, "quiet_time")
	p.silence = k.duration(c.Silence, 0, "silence")
	p.model.ReplyTimeout = p.replyTimeout
	k.within(c.MaxRegisters, pdu.MaxReadRegisters, "max_registers")
	k.within(c.MaxCoils, pdu.MaxReadBits, "max_coils")
	if c.MaxGap != nil && (*c.MaxGap < 0 || *c.MaxGap >= pdu.MaxReadRegisters) {
		k.root.In("max_gap").Errorf("a gap of %d: want 0 to %d", *c.MaxGap, pdu.MaxReadRegisters-1)
	}
	switch c.Write {
	case "", "single", "multiple":
	default:
		k.root.In("write").Errorf("%q is neither single nor multiple", c.Write)
	}
	for _, o := range []struct{ key, set string }{{"byte_order", c.ByteOrder}, {"word_order", c.WordOrder}} {
		if o.set != "" && o.set != "big" && o.set != "little" {
			k.root.In(o.key).Errorf("%q is neither big nor little", o.set)
		}
	}
}

func (k *compiler) duration(set, unset time.Duration, key string) time.Duration {
	switch {
	case set < 0 || set > maxDuration:
		k.root.In(key).Errorf("%v: want a time up to %v", set, maxDuration)
	case set > 0:
		return set
	}
	return unset
}

// within reports a number that is neither unset nor 1 to most.
func (k *compiler) within(set, most int, key string) {
	if set < 0 || set > most {
		k.root.In(key).Errorf("%d: want 1 to %d", set, most)
	}
}

// limit is how many addresses one request may read.
func (k *compiler) limit(t table) int {
	if t.bits() {
		return orDefault(k.config.MaxCoils, pdu.MaxReadBits)
	}
	return orDefault(k.config.MaxRegisters, pdu.MaxReadRegisters)
}

func (k *compiler) gap(t table) int {
	gap := DefaultMaxGap
	if k.config.MaxGap != nil {
		gap = *k.config.MaxGap
	}
	if t.bits() {
		return 16 * gap
	}
	return gap
}

func orDefault(set, unset int) int {
	if set == 0 {
		return unset
	}
	return set
}

// combine makes the blocks and the polls.
func (k *compiler) combine() {
	p := k.plan
	p.blocks = combine(p.items, k.limit, k.gap)
	for _, b := range p.blocks {
		if b.period > 0 {
			p.polls = append(p.polls, b)
			p.model.Polls = append(p.model.Polls, device.Poll{Period: b.period, Indices: b.indices, MaxAge: b.maxAge})
		}
	}
}

// attribute compiles one attribute.
func (k *compiler) attribute(name string, a *Attribute, at describe.Place) {
	if a.Poll < 0 || a.Poll > maxDuration {
		at.In("poll").Errorf("%v: want a time up to %v", a.Poll, maxDuration)
	}
	if a.MaxAge < 0 {
		at.In("max_age").Errorf("%v: want a time", a.MaxAge)
	}
	d := a.Build(k.device+"."+name, a.Poll, at)
	it := item{readable: d.CanRead(), period: a.Poll, maxAge: a.MaxAge}
	if d.Kind == gateway.NoKind || !k.table(a, &it, at) {
		return
	}
	it.codec = k.codec(a, &d.Type, it.table, at)
	k.address(a, &d, &it, at)
	k.access(a, &d, &it, at)
	k.plan.model.Attributes = append(k.plan.model.Attributes, d)
	k.plan.items = append(k.plan.items, it)
}

func (k *compiler) table(a *Attribute, it *item, at describe.Place) bool {
	i := slices.Index(tableNames, a.Table)
	switch {
	case a.Table == "":
		at.Errorf("a table is missing: coil, discrete, input or holding")
	case i < 0:
		at.In("table").Errorf("there is no table %q%s", a.Table, describe.DidYouMean(a.Table, tableNames))
	default:
		it.table = table(i)
	}
	return i >= 0
}

func (k *compiler) address(a *Attribute, d *gateway.Descriptor, it *item, at describe.Place) {
	if a.Address == nil {
		at.Errorf("an address is missing; addresses begin with 0")
		return
	}
	at = at.In("address")
	it.from = *a.Address
	it.to = it.from + it.codec.size()*d.MaxElements()
	base := map[table]int{inputs: 30001, holdings: 40001}[it.table]
	switch {
	case it.from < 0 || it.to > 1<<16:
		at.Errorf("%d to %d: want addresses from 0 to 65535", it.from, it.to-1)
	case base > 0 && it.from >= base && it.from < base+9999:
		at.Warnf("addresses begin with 0: if %d is how a manual counts, this is %d", it.from, it.from-base)
	}
	n, most := it.to-it.from, k.limit(it.table)
	if d.CanWrite() && it.table == holdings {
		most = min(most, pdu.MaxWriteRegisters)
	}
	if d.CanWrite() && it.table == coils {
		most = min(most, pdu.MaxWriteBits)
	}
	if n > most {
		at.Errorf("%d addresses do not fit into one request, which takes %d", n, most)
	}
}

// access compiles how the attribute is written.
func (k *compiler) access(a *Attribute, d *gateway.Descriptor, it *item, at describe.Place) {
	if d.CanWrite() && !it.table.writable() {
		at.In("access").Errorf("nothing can be written to the table %s", a.Table)
	}
	if !d.CanRead() && (a.Poll != 0 || a.MaxAge != 0) {
		at.In("poll").Errorf("access w is never read")
	}
	it.readBack = it.readable && (a.ReadBack == nil || *a.ReadBack)
	it.write = k.writeMode(a, d, it, at)
	switch a.OnConnect {
	case "", "read":
	case "push":
		it.connect = connectPush
	case "none":
		it.connect = connectNone
	default:
		at.In("on_connect").Errorf("%q is none of read, push and none", a.OnConnect)
	}
	if d.Access != gateway.AccessReadWrite && a.OnConnect != "" {
		at.In("on_connect").Errorf("only an rw attribute has both a setpoint and a readback")
	}
}

func (k *compiler) writeMode(a *Attribute, d *gateway.Descriptor, it *item, at describe.Place) writeMode {
	at = at.In("write")
	if a.Write != "" && !d.CanWrite() {
		at.Errorf("access r cannot be written")
	}
	switch a.Write {
	case "":
		if k.config.Write == "multiple" {
			return writeMultiple
		}
	case "single":
		if it.to-it.from > 1 {
			at.Errorf("%d addresses cannot be written with the function for a single one", it.to-it.from)
		}
	case "multiple":
		return writeMultiple
	case "mask":
		if it.table != holdings || it.codec.width == 0 || it.to-it.from > 1 {
			at.Errorf("a mask is for a part of one holding register, with bit and width")
		}
		return writeMask
	default:
		at.Errorf("%q is none of single, multiple and mask", a.Write)
	}
	return writeSingle
}

// String names the addresses for people.
func (s span) String() string {
	if s.to-s.from == 1 {
		return fmt.Sprintf("%s %d", tableNames[s.table], s.from)
	}
	return fmt.Sprintf("%s %d to %d", tableNames[s.table], s.from, s.to-1)
}
