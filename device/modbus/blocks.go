package modbus

import (
	"cmp"
	"slices"
	"time"

	"github.com/polygate/gateway/device/modbus/pdu"
)

// A table is one of the four address spaces of a unit.
type table uint8

const (
	coils table = iota
	discretes
	inputs
	holdings
)

var tableNames = []string{coils: "coil", discretes: "discrete", inputs: "input", holdings: "holding"}

// bits reports whether an address holds one bit, and not a register.
func (t table) bits() bool { return t == coils || t == discretes }

func (t table) writable() bool { return t == coils || t == holdings }

func (t table) readFunction() pdu.Function {
	return [...]pdu.Function{pdu.ReadCoils, pdu.ReadDiscreteInputs, pdu.ReadInputRegisters, pdu.ReadHoldingRegisters}[t]
}

// A span is a run of addresses in a table.
type span struct {
	table    table
	from, to int // to is the first behind it
}

func (s span) request() *pdu.Request {
	return &pdu.Request{Function: s.table.readFunction(), Address: uint16(s.from), Quantity: uint16(s.to - s.from)}
}

// A block is what one request reads.
type block struct {
	span
	indices        []int // of the attributes in it, rising
	period, maxAge time.Duration
}

// combine makes blocks of attributes that are polled alike and lie near each
// other. What is never polled is combined, too: it is read on connect.
func combine(items []item, limit func(table) int, gap func(table) int) []*block {
	var order []int
	for i := range items {
		if items[i].readable {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &items[a], &items[b]
		return cmp.Or(cmp.Compare(x.table, y.table), cmp.Compare(x.period, y.period), cmp.Compare(x.maxAge, y.maxAge),
			cmp.Compare(x.from, y.from))
	})
	var blocks []*block
	var last *block
	for _, i := range order {
		it := &items[i]
		fits := last != nil && last.table == it.table && last.period == it.period && last.maxAge == it.maxAge &&
			it.from-last.to <= gap(it.table) && max(it.to, last.to)-last.from <= limit(it.table)
		if !fits {
			last = &block{span: it.span, period: it.period, maxAge: it.maxAge}
			blocks = append(blocks, last)
		}
		last.to = max(last.to, it.to)
		last.indices = append(last.indices, i)
	}
	for _, b := range blocks {
		slices.Sort(b.indices)
	}
	return blocks
}
