package serial

import (
	"math/rand/v2"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/describe"
)

// An Instrument is simulated from the configuration of a device: it answers
// what the device's driver asks, with the formats read backwards. It holds a
// value for each attribute, which writes change. Steps and commands without a
// value are acknowledged and have no effect, but for those of toggles, and
// nothing comes unasked. What it
// does not know it does not answer. It is not safe for concurrent use.
type Instrument struct {
	plan    *plan
	random  *rand.Rand
	began   time.Time
	set     []gateway.Value // of the plan's items, where a write has set one
	read    []int           // how often each was read
	queries map[string][]*answering
	fixed   map[string]*acknowledgement
	toggles map[string]int // which item a request changes
	writes  []setting

	address  string // what it has to hear before it listens; may be empty
	listens  bool
	previous string // the request before this one
}

// NewInstrument simulates the instrument of a device. Its noise is drawn from
// seed. The problems are warnings of requests that it cannot answer, if the
// configuration itself has no mistake.
func NewInstrument(device string, c Config, seed uint64) (*Instrument, []Problem) {
	var problems []Problem
	p, mistakes := c.compile(device)
	for _, m := range mistakes {
		if !m.Warning {
			return nil, mistakes
		}
	}
	root := describe.Root(&problems)
	i := &Instrument{
		plan: p, random: rand.New(rand.NewPCG(seed, 0)),
		set: make([]gateway.Value, len(p.items)), read: make([]int, len(p.items)),
		queries: map[string][]*answering{}, fixed: map[string]*acknowledgement{}, toggles: map[string]int{},
	}
	for index := range p.items {
		p.items[index].source.begin(&p.model.Attributes[index].Type)
	}
	for _, x := range p.exchanges {
		q, err := i.query(x)
		if err != nil {
			root.Warnf("the reply to %s cannot be simulated: %v", quoted(x.request), err)
			continue
		}
		i.queries[string(x.request)] = append(i.queries[string(x.request)], q)
	}
	for n := range p.before {
		i.address = i.step(&p.before[n])
	}
	for index := range p.items {
		w := p.items[index].write
		if w == nil {
			continue
		}
		if err := i.write(index, w); err != nil {
			root.Warnf("%s cannot be simulated: %v", p.model.Attributes[index].Path, err)
		}
	}
	return i, problems
}

// Ends returns what ends requests and replies. What follows a terminator is in
// the replies, and the terminator then, too.
func (i *Instrument) Ends() (request, reply string) {
	if i.plan.in.check > 0 {
		return string(i.plan.outTerminator), ""
	}
	return string(i.plan.outTerminator), string(i.plan.in.terminator)
}

// Handle answers a request that arrived at now. It returns false if there is
// no answer.
func (i *Instrument) Handle(now time.Time, request string) (reply string, ok bool) {
	if i.began.IsZero() {
		i.began = now
	}
	if i.address != "" && request == i.address {
		i.listens = true
	}
	if i.address != "" && !i.listens {
		return "", false
	}
	b, ok, known := i.answer(now, request)
	i.previous = request
	if !known {
		i.listens = false // It may be the address of another.
		return "", false
	}
	if !i.plan.echo {
		return string(b), ok
	}
	requestEnd, replyEnd := i.Ends()
	if !ok && requestEnd == replyEnd {
		return request, true // What sends the reply ends it.
	}
	return request + requestEnd + string(b), true
}

func (i *Instrument) answer(now time.Time, request string) (reply []byte, ok, known bool) {
	if all := i.queries[request]; len(all) > 0 {
		for _, q := range all {
			if q.after == "" || q.after == i.previous {
				reply, err := q.reply(i.value(now))
				return reply, err == nil, true
			}
		}
		return nil, false, true
	}
	if a := i.fixed[request]; a != nil {
		if index, toggles := i.toggles[request]; toggles {
			i.set[index] = other(i.value(now)(index))
		}
		reply, ok = a.reply(i.plan, nil)
		return reply, ok, true
	}
	for n := range i.writes {
		s := &i.writes[n]
		value, written, ok := s.match([]byte(request))
		if !ok {
			continue
		}
		i.set[s.index] = value
		reply, ok = s.reply(i.plan, written)
		return reply, ok, true
	}
	return nil, false, false
}

// value returns a function that reads the value of an item.
func (i *Instrument) value(now time.Time) func(index int) gateway.Value {
	return func(index int) gateway.Value {
		s := &i.plan.items[index].source
		if v := i.set[index]; v.Known() {
			return s.noisy(v, i.random)
		}
		n := i.read[index]
		i.read[index]++
		return s.at(n, now.Sub(i.began), i.random)
	}
}
