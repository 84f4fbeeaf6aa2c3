package serial

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/describe"
	"github.com/polygate/gateway/device/stream"
)

// A plan is a compiled configuration. It does not change.
type plan struct {
	model     device.Model
	exchanges []*exchange
	polls     []*exchange // of the model's polls
	items     []item      // of the model's attributes
	listeners []target
	ignore    []*stream.Format
	refusals  []*stream.Format

	before        []step // what is sent in front of each exchange and write
	in            framing
	outTerminator []byte

	replyTimeout, readTimeout, quietTime, writeDelay time.Duration

	echo bool
}

// An exchange is a request and what is read out of its reply.
type exchange struct {
	before  []step // that the instrument wants first; they take no value
	request []byte // without its terminator
	targets []target
	indices []int // of the attributes that it refreshes, rising
	// leading is what a line must begin with to be the reply, or empty.
	leading string

	period, maxAge time.Duration // of its poll; 0 is none
}

// A target is a format that a line is matched with, and where its values go.
type target struct {
	format  *stream.Format
	fields  []stream.Field
	values  []value
	leading string // what every line begins with that matches; may be empty
}

// A value is one attribute's part of a target. In an array all that was read
// belongs to the one value.
type value struct {
	index int
	codec *codec
	field int
}

// An item is what the driver knows of an attribute or command.
type item struct {
	codec    *codec
	exchange *exchange // that reads it; nil if it cannot be read
	fed      bool      // some reply or unsolicited line has its value
	write    *write    // nil if it cannot be written
	readBack bool
	connect  onConnect
	source   source // for a simulated instrument
}

// onConnect says what happens to an rw attribute on each connect.
type onConnect uint8

const (
	connectRead onConnect = iota
	connectPush
	connectNone
)

// A write is the requests of a put or a command.
type write struct {
	codec   *codec // of the value or argument; nil if there is none
	toggle  bool   // it changes the state, and takes no value
	steps   []step
	cleanup []step
	// result reads the command's result from the last reply; nil if there is none.
	result *target
}

// A step is one compiled request.
type step struct {
	format *stream.Format // nil for a mere pause
	field  *stream.Field  // of the value; nil if it takes none
	reply  *stream.Format // nil if nothing is expected
	brk    time.Duration  // a break before it
	wait   time.Duration
}

// A compiler collects a plan and what is wrong with it.
type compiler struct {
	config   *Config
	device   string
	root     describe.Place
	plan     *plan
	byName   map[string]int
	requests map[string]*exchange
}

// compile makes the plan of the configuration. The plan is usable if no
// problem is an error.
func (c *Config) compile(name string) (*plan, []Problem) {
	var problems []Problem
	k := &compiler{
		config: c, device: name, root: describe.Root(&problems), plan: &plan{echo: c.Echo},
		byName: map[string]int{}, requests: map[string]*exchange{},
	}
	if err := gateway.CheckSegment(name); err != nil {
		k.root.Errorf("the name of a device is one segment: %v", err)
	}
	k.line()
	attributes, commands, queries := c.expand(k.root)
	for i := range attributes {
		k.attribute(&attributes[i])
	}
	for i := range commands {
		k.command(&commands[i])
	}
	for i := range queries {
		k.query(&queries[i])
	}
	for i := range attributes {
		k.unread(&attributes[i])
	}
	if len(k.plan.items) == 0 {
		k.root.Errorf("a device needs attributes or commands")
	}
	k.polls()
	return k.plan, unique(problems)
}

// unique drops what a group reports again for each index.
func unique(problems []Problem) []Problem {
	var kept []Problem
	for _, p := range problems {
		if !slices.ContainsFunc(kept, func(q Problem) bool {
			return p.Msg == q.Msg && p.Offset == q.Offset && slices.Equal(p.Path, q.Path)
		}) {
			kept = append(kept, p)
		}
	}
	return kept
}

// line compiles what the whole device has in common.
func (k *compiler) line() {
	c, p := k.config, k.plan
	p.model.Info = gateway.DeviceInfo{Description: c.Description, Driver: "serial"}
	if c.CA.Prefix != "" {
		p.model.Info.Annotations = map[string]string{describe.AnnotationCAPrefix: c.CA.Prefix}
	}
	p.outTerminator = k.terminator(c.OutTerminator, "out_terminator")
	p.in = framing{
		terminator: k.terminator(c.InTerminator, "in_terminator"), check: c.CheckBytes, size: c.ReplyLength.compile(k.root.In("reply_length")),
		lone: literal(c.LoneBytes, "a reply of one byte", k.root.In("lone_bytes")),
	}
	k.framing()
	if c.Terminator == nil && c.InTerminator == nil && !p.in.size.sized() {
		k.root.Warnf(`no terminator is set: a reply ends when the line is silent. Most instruments want terminator: "\r\n"; write in_terminator: "" if this is meant`)
	}
	p.replyTimeout = k.duration(c.ReplyTimeout, DefaultReplyTimeout, "reply_timeout")
	p.readTimeout = k.duration(c.ReadTimeout, DefaultReadTimeout, "read_timeout")
	p.quietTime = k.duration(c.QuietTime, p.replyTimeout/4, "quiet_time")
	p.writeDelay = k.duration(c.WriteDelay, 0, "write_delay")
	p.model.ReplyTimeout = p.replyTimeout
	switch c.Decimal {
	case "", ".", ",":
	default:
		k.root.In("decimal").Errorf(`%q is no decimal point: "." and "," are`, c.Decimal)
	}
	checkExtra(c.ExtraInput, k.root)
	p.before = k.steps(c.Before.fill(c.replacer("").Replace), nil, nil, &Attribute{}, k.root.In("before"), k.root.In("before"))
	for i, text := range c.Ignore {
		p.ignore = append(p.ignore, k.pattern(text, k.root.In("ignore", fmt.Sprint(i)))...)
	}
	for i, text := range c.Refusals {
		p.refusals = append(p.refusals, k.pattern(text, k.root.In("refusals", fmt.Sprint(i)))...)
	}
}

// framing reports ends of replies that contradict each other.
func (k *compiler) framing() {
	c, in := k.config, &k.plan.in
	if c.CheckBytes < 0 || c.CheckBytes > 16 {
		k.root.In("check_bytes").Errorf("%d check bytes: want 0 to 16", c.CheckBytes)
	}
	if c.CheckBytes > 0 && len(in.terminator) == 0 {
		k.root.In("check_bytes").Errorf("check bytes stand behind a terminator, and replies have none")
	}
	if in.size.sized() && len(in.terminator) > 0 {
		k.root.In("reply_length").Errorf("replies end with their terminator or after a length, not both: write in_terminator: \"\"")
	}
}

// listens reports a listener on a line whose ends only silence marks.
func (k *compiler) listens(at describe.Place) {
	if k.plan.in.silence() {
		at.Errorf("what comes unasked needs an end that can be seen: in_terminator or reply_length")
	}
}

func (k *compiler) terminator(own *string, key string) []byte {
	switch {
	case own != nil:
		return literal(*own, "a terminator", k.root.In(key))
	case k.config.Terminator != nil:
		return literal(*k.config.Terminator, "a terminator", k.root.In("terminator"))
	}
	return nil
}

// maxDuration bounds every time in the file; more is a slip of the pen.
const maxDuration = time.Hour

func (k *compiler) duration(set, unset time.Duration, key string) time.Duration {
	switch {
	case set < 0 || set > maxDuration:
		k.root.In(key).Errorf("%v: want a time up to %v", set, maxDuration)
	case set > 0:
		return set
	}
	return unset
}

// pattern compiles a format of lines whose values do not matter.
func (k *compiler) pattern(text string, at describe.Place) []*stream.Format {
	f := parse(k.config.replacer("").Replace(text), stream.Options{Direction: stream.In, DecimalComma: k.config.Decimal == ","}, at)
	if f == nil {
		return nil
	}
	if text == "" {
		at.Errorf("an empty format matches empty lines only, and those are skipped anyway")
	}
	return []*stream.Format{f}
}

// add puts an attribute or command into the model and returns its index.
func (k *compiler) add(d gateway.Descriptor, name string, it item, at describe.Place) {
	if _, taken := k.byName[name]; taken {
		at.Errorf("there is another attribute or command %q", name)
		return
	}
	k.byName[name] = len(k.plan.items)
	k.plan.model.Attributes = append(k.plan.model.Attributes, d)
	k.plan.items = append(k.plan.items, it)
}

// request returns the exchange of a read, the same for the same steps.
func (k *compiler) request(read Steps, at describe.Place) *exchange {
	last := len(read) - 1
	here := at
	if last > 0 {
		here = at.In(fmt.Sprint(last))
	}
	asks := &read[last]
	switch {
	case asks.Send == "":
		here.Errorf("nothing is sent here that asks for the value")
		return nil
	case asks.Reply != nil || asks.Wait != 0 || asks.Break != 0:
		here.Errorf("what asks for the value is only sent: the answer's format is beside read, and a wait or a break is a step before it")
		return nil
	}
	b := literal(asks.Send, "a query", here)
	if b == nil {
		return nil
	}
	k.checkTerminator(b, here)
	key := read.key()
	x := k.requests[key]
	if x == nil {
		x = &exchange{request: b, before: slices.Concat(k.plan.before, k.steps(read[:last], nil, nil, &Attribute{}, at, at))}
		k.requests[key] = x
		k.plan.exchanges = append(k.plan.exchanges, x)
	}
	return x
}

// checkTerminator reports a request that holds the terminator: it would be two.
func (k *compiler) checkTerminator(b []byte, at describe.Place) {
	if t := k.plan.outTerminator; len(t) > 0 && slices.Contains(chunks(b, len(t)), string(t)) {
		at.Errorf("the request holds the terminator %q, which is added to each request", t)
	}
}

// chunks returns all runs of n bytes.
func chunks(b []byte, n int) []string {
	var all []string
	for i := 0; i+n <= len(b); i++ {
		all = append(all, string(b[i:i+n]))
	}
	return all
}

// feed says that an exchange reads these attributes.
func (x *exchange) feed(t target, poll, maxAge time.Duration) {
	if len(x.targets) == 0 {
		x.leading = t.leading
	} else if t.leading != x.leading {
		x.leading = ""
	}
	x.targets = append(x.targets, t)
	for _, v := range t.values {
		if !slices.Contains(x.indices, v.index) {
			x.indices = append(x.indices, v.index)
		}
	}
	slices.Sort(x.indices)
	x.period, x.maxAge = shorter(x.period, poll), shorter(x.maxAge, maxAge)
}

// shorter returns the shorter of two times, of which 0 is none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// polls lists the exchanges that are repeated.
func (k *compiler) polls() {
	p := k.plan
	for _, x := range p.exchanges {
		if x.period == 0 {
			continue
		}
		p.polls = append(p.polls, x)
		p.model.Polls = append(p.model.Polls, device.Poll{Period: x.period, Indices: x.indices, MaxAge: x.maxAge})
	}
	// Puts wait for one exchange; the order of the polls is theirs alone.
	slices.SortFunc(p.exchanges, func(a, b *exchange) int { return cmp.Compare(first(a), first(b)) })
}

func first(x *exchange) int {
	if len(x.indices) == 0 {
		return -1
	}
	return x.indices[0]
}
