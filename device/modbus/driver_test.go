package modbus_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway/device/link/linktest"
	"github.com/polygate/gateway/device/modbus/pdu"
)

// both runs a test over RTU and over TCP.
func both(t *testing.T, test func(t *testing.T, overTCP bool)) {
	t.Helper()
	t.Run("rtu", func(t *testing.T) { test(t, false) })
	t.Run("tcp", func(t *testing.T) { test(t, true) })
}

func TestTypesAndOrders(t *testing.T) {
	// 123456.75 is 47 F1 20 60 as a float32; 1234.5 is 40 93 4A 00 ... as a float64.
	if math.Float32bits(123456.75) != 0x47F12060 || math.Float64bits(1234.5) != 0x40934A0000000000 {
		t.Fatal("the bytes of this test are wrong")
	}
	for name, c := range map[string]struct {
		attribute string
		words     []uint16
		shows     string // in a poll
		put       string // another value, or empty
		becomes   []uint16
	}{
		"int16":                 {"kind: int16", []uint16{0xFFFE}, "-2", "-32768", []uint16{0x8000}},
		"int16 low byte first":  {"kind: int16, byte_order: little", []uint16{0xFEFF}, "-2", "258", []uint16{0x0201}},
		"uint16":                {"kind: uint16", []uint16{0xFFFE}, "65534", "1", []uint16{1}},
		"uint16 in int32":       {"kind: int32, type: uint16", []uint16{0xFFFE}, "65534", "1", []uint16{1}},
		"int32 ABCD":            {"kind: int32", []uint16{0x0102, 0x0304}, "16909060", "-2", []uint16{0xFFFF, 0xFFFE}},
		"uint32 CDAB":           {"kind: uint32, word_order: little", []uint16{0x0304, 0x0102}, "16909060", "4294967294", []uint16{0xFFFE, 0xFFFF}},
		"uint32 BADC":           {"kind: uint32, byte_order: little", []uint16{0x0201, 0x0403}, "16909060", "1", []uint16{0, 0x0100}},
		"uint32 DCBA":           {"kind: uint32, byte_order: little, word_order: little", []uint16{0x0403, 0x0201}, "16909060", "1", []uint16{0x0100, 0}},
		"float32 ABCD":          {"kind: float32", []uint16{0x47F1, 0x2060}, "123456.75", "-1.5", []uint16{0xBFC0, 0}},
		"float32 CDAB":          {"kind: float32, word_order: little", []uint16{0x2060, 0x47F1}, "123456.75", "-1.5", []uint16{0, 0xBFC0}},
		"float32 in a float64":  {"kind: float64, type: float32", []uint16{0x47F1, 0x2060}, "123456.75", "-1.5", []uint16{0xBFC0, 0}},
		"float32 NaN":           {"kind: float32", []uint16{0x7FC0, 0}, "NaN", "", nil},
		"int64":                 {"kind: int64", []uint16{0xFFFF, 0xFFFF, 0xFFFF, 0xFFFE}, "-2", "72623859790382856", []uint16{0x0102, 0x0304, 0x0506, 0x0708}},
		"uint64 low word first": {"kind: uint64, word_order: little", []uint16{0x0708, 0x0506, 0x0304, 0x0102}, "72623859790382856", "18446744073709551615", []uint16{0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF}},
		"float64":               {"kind: float64, type: float64", []uint16{0x4093, 0x4A00, 0, 0}, "1234.5", "-2", []uint16{0xC000, 0, 0, 0}},
		"scaled":                {"kind: float64, type: int16, scale: 0.1, offset: -50", []uint16{0x7FFF}, "3226.7", "-50.1", []uint16{0xFFFF}},
		"enum":                  {"kind: enum, states: [{label: Off, raw: 0x10}, {label: On, raw: 0x2F}]", []uint16{0x2F}, "On", "Off", []uint16{0x10}},
		"bool":                  {"kind: bool", []uint16{1}, "true", "false", []uint16{0}},
		"string":                {"kind: string, max_length: 6", []uint16{0x4162, 0x6300, 0x7878}, "Abc", "xyzzy", []uint16{0x7879, 0x7A7A, 0x7900}},
		"string of blanks":      {"kind: string, max_length: 5", []uint16{0x4162, 0x2020, 0x2020}, "Ab", "", nil},
		"string, bytes swapped": {"kind: string, max_length: 4, byte_order: little", []uint16{0x6241, 0x6463}, "Abcd", "x", []uint16{0x0078, 0}},
		"array":                 {"kind: int16, shape: 3", []uint16{1, 2, 0xFFFF}, "[1,2,-1]", "[7,8,9]", []uint16{7, 8, 9}},
		"array of float32":      {"kind: float64, type: float32, shape: 2, word_order: little", []uint16{0, 0x3F80, 0, 0xBFC0}, "[1,-1.5]", "[-1.5,1]", []uint16{0, 0xBFC0, 0, 0x3F80}},
		"scaled array":          {"kind: float64, type: uint16, shape: [2, 2], scale: 0.5", []uint16{1, 2, 3, 4}, "[[0.5,1],[1.5,2]]", "[[2,1],[0.5,0]]", []uint16{4, 2, 1, 0}},
		"bit":                   {"kind: bool, bit: 15", []uint16{0x8001}, "true", "false", []uint16{0x0001}},
		"bit of a low-first":    {"kind: bool, bit: 8, byte_order: little", []uint16{0x0001}, "true", "false", []uint16{0}},
		"part":                  {"kind: uint16, bit: 4, width: 3", []uint16{0xFFDF}, "5", "2", []uint16{0xFFAF}},
		"part of uint32":        {"kind: uint32, type: uint32, bit: 14, width: 4", []uint16{0x0001, 0x4000}, "5", "15", []uint16{0x0003, 0xC000}},
		"part, by mask":         {"kind: uint16, bit: 4, width: 3, write: mask", []uint16{0xFFDF}, "5", "2", []uint16{0xFFAF}},
		"part that is an enum":  {"kind: enum, bit: 1, width: 2, states: [A, B, C]", []uint16{0x0005}, "C", "B", []uint16{0x0003}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSlave(true, 1)
			s.holds(1, 3, 100, c.words...)
			u := newRig(t, s).unit("dev", `
attributes: {x: {table: holding, address: 100, poll: 1s, access: rw, `+c.attribute+`}}`).connect()
			expect(t, u.poll("x"), "x="+c.shows)
			if c.put == "" {
				return
			}
			expect(t, u.put("x", c.put), "verified: x="+c.put)
			for i, want := range c.becomes {
				if got := s.word(1, 100+i); got != want {
					t.Errorf("register %d is %04X, want %04X", i, got, want)
				}
			}
		})
	}
}

func TestBits(t *testing.T) {
	both(t, func(t *testing.T, overTCP bool) {
		s := newSlave(overTCP, 1)
		s.holdsBits(1, 1, 20, true, false, true, true, false, false, false, false, true, true)
		s.holdsBits(1, 2, 0, true)
		u := newRig(t, s).unit("dev", `
attributes:
  a: {table: coil, address: 20, kind: bool, access: rw, poll: 1s}
  all: {table: coil, address: 20, kind: bool, shape: 10, access: rw, poll: 1s}
  door: {table: discrete, address: 0, kind: enum, states: [Open, Closed], poll: 1s}
  lone: {table: coil, address: 25, kind: bool, access: rw, write: multiple, read_back: false}
`).connect()
		expect(t, u.poll("a"), "a=true, all=[true,false,true,true,false,false,false,false,true,true]")
		expect(t, u.poll("door"), "door=Closed")
		u.slave.asked()
		expect(t, u.put("a", "false"), "verified: a=false")
		expect(t, u.slave.asked(), "1:0500140000 1:0100140001")
		expect(t, u.put("a", "true"), "verified: a=true")
		expect(t, u.slave.asked(), "1:050014ff00 1:0100140001")
		expect(t, u.put("all", "[1,0,1,1,0,0,1,1,1,0]"), "verified: all=[true,false,true,true,false,false,true,true,true,false]")
		// The specification's own example of function 15 (section 6.11), at another address.
		expect(t, u.slave.asked(), "1:0f0014000a02cd01 1:010014000a")
		expect(t, u.put("lone", "true"), "acknowledged")
		expect(t, u.slave.asked(), "1:0f001900010101")
	})
}

func TestWriteFunctions(t *testing.T) {
	s := newSlave(false, 17)
	s.holds(17, 3, 0, 1, 0xABCD, 3, 4)
	u := newRig(t, s).unit("dev", `
unit: 17
attributes:
  one: {table: holding, address: 0, kind: uint16, access: rw, read_back: false}
  many: {table: holding, address: 0, kind: uint16, access: rw, read_back: false, write: multiple}
  two: {table: holding, address: 2, kind: uint32, access: w}
  part: {table: holding, address: 1, kind: uint16, bit: 8, width: 4, access: rw, read_back: false}
  mask: {table: holding, address: 1, kind: uint16, bit: 8, width: 4, access: rw, read_back: false, write: mask}
`).connect()
	for _, c := range []struct{ name, value, asked string }{
		{"one", "3", "17:0600000003"},
		{"many", "3", "17:1000000001020003"},
		{"two", "655618", "17:100002000204000a0102"},
		{"part", "5", "17:0300010001 17:060001a5cd"},
		{"mask", "6", "17:160001f0ff0600"},
	} {
		expect(t, u.put(c.name, c.value), "acknowledged")
		expect(t, u.slave.asked(), c.asked)
	}
	if got := s.word(17, 1); got != 0xA6CD {
		t.Errorf("the register is %04X", got)
	}
}

func TestNeighboursAreReadTogether(t *testing.T) {
	s := newSlave(false, 1)
	s.holds(1, 3, 0, make([]uint16, 300)...)
	s.holds(1, 4, 0, make([]uint16, 10)...)
	u := newRig(t, s).unit("dev", `
attributes:
  a: {table: holding, address: 0, kind: int16, poll: 1s}
  b: {table: holding, address: 4, kind: int32, poll: 1s}
  c: {table: holding, address: 14, kind: int16, poll: 1s}
  far: {table: holding, address: 24, kind: int16, poll: 1s}
  slow: {table: holding, address: 1, kind: int16, poll: 5s}
  input: {table: input, address: 1, kind: int16, poll: 1s}
  full: {table: holding, address: 100, kind: int16, shape: 120, poll: 1s}
  over: {table: holding, address: 222, kind: int32, shape: 2, poll: 1s}
  once: {table: holding, address: 2, kind: int16}
`).connect()
	for name, want := range map[string]string{
		"a": "1:030000000f", "b": "1:030000000f", "far": "1:0300180001", "slow": "1:0300010001", "input": "1:0400010001",
		"full": "1:0300640078", "over": "1:0300de0004",
	} {
		u.poll(name)
		expect(t, name+" "+u.slave.asked(), name+" "+want)
	}
	readings, err := u.driver.Refresh(u.ctx, u.index["b"], nil)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, u.show(readings), "b=0")
	expect(t, u.slave.asked(), "1:0300040002")
}

func TestOneWrongAddressDoesNotTakeItsNeighboursAway(t *testing.T) {
	both(t, func(t *testing.T, overTCP bool) {
		s := newSlave(overTCP, 1)
		s.holds(1, 3, 0, 7, 8)
		s.holds(1, 3, 3, 9)
		u := newRig(t, s).unit("dev", `
attributes:
  a: {table: holding, address: 0, kind: int16, poll: 1s}
  b: {table: holding, address: 3, kind: int16, poll: 1s}
  wrong: {table: holding, address: 5, kind: int16, poll: 1s}
`).connect()
		expect(t, u.poll("a"), "a=7, b=9, wrong= INVALID/READ")
		// On connect it was found out; now nothing is asked in vain.
		expect(t, u.slave.asked(), "1:0300000001 1:0300030001 1:0300050001")
		s.touch(func() { s.silent = true })
		expect(t, u.poll("a"), "a= INVALID/TIMEOUT, b= INVALID/TIMEOUT, wrong= INVALID/TIMEOUT")
		expect(t, u.slave.asked(), "1:0300000001")
	})
}

func TestExceptions(t *testing.T) {
	for _, c := range []struct {
		code      pdu.Exception
		read, put string
	}{
		{pdu.IllegalFunction, "READ", `sent refused_by_device "illegal function (1)"`},
		{pdu.IllegalDataAddress, "READ", `sent refused_by_device "illegal data address (2)"`},
		{pdu.IllegalDataValue, "READ", `sent refused_by_device "illegal data value (3)"`},
		{pdu.DeviceFailure, "READ", `sent refused_by_device "device failure (4)"`},
		{pdu.Acknowledge, "READ", `sent unknown_outcome "acknowledge (5)"`},
		{pdu.DeviceBusy, "READ", `sent refused_by_device "device busy (6)"`},
		{pdu.MemoryParityError, "READ", `sent refused_by_device "memory parity error (8)"`},
		{pdu.GatewayPath, "TIMEOUT", `sent not_connected`},
		{pdu.GatewayTarget, "TIMEOUT", `sent unknown_outcome "gateway target device failed to respond (11)"`},
		{99, "READ", `sent refused_by_device "exception (99)"`},
	} {
		t.Run(c.code.Error(), func(t *testing.T) {
			both(t, func(t *testing.T, overTCP bool) {
				s := newSlave(overTCP, 1)
				s.holds(1, 3, 0, 7)
				u := newRig(t, s).unit("dev", `
attributes: {x: {table: holding, address: 0, kind: int16, access: rw, poll: 1s}}`).connect()
				s.touch(func() { s.units[1].says[3], s.units[1].says[6] = c.code, c.code })
				expect(t, u.poll("x"), "x= INVALID/"+c.read)
				expect(t, u.put("x", "1"), c.put)
				s.touch(func() { clear(s.units[1].says) })
				expect(t, u.poll("x"), "x=7")
			})
		})
	}
}

func TestValuesThatDoNotFitAreNotSent(t *testing.T) {
	s := newSlave(true, 1)
	s.holds(1, 3, 0, 7, 8)
	u := newRig(t, s).unit("dev", `
attributes:
  tenths: {table: holding, address: 0, kind: float64, type: int16, scale: 0.1, access: rw}
  whole: {table: holding, address: 0, kind: float64, type: uint16, access: rw}
  part: {table: holding, address: 0, kind: uint16, bit: 0, width: 3, access: rw}
  list: {table: holding, address: 0, kind: int16, shape: 2, access: rw}
  text: {table: holding, address: 0, kind: string, max_length: 3, access: rw}
`).connect()
	for name, value := range map[string]string{"tenths": "4000", "whole": "1.5", "part": "8", "list": "[1]"} {
		expect(t, name+" "+u.put(name, value), name+" accepted out_of_range")
	}
	expect(t, u.slave.asked(), "")
}

func TestStatesThatAreNone(t *testing.T) {
	s := newSlave(true, 1)
	s.holds(1, 3, 0, 5, 2)
	u := newRig(t, s).unit("dev", `
attributes:
  e: {table: holding, address: 0, kind: enum, states: [A, B], poll: 1s}
  b: {table: holding, address: 1, kind: bool, poll: 1s}
  n: {table: holding, address: 1, kind: int16, poll: 1s}
`).connect()
	expect(t, u.poll("e"), "b= INVALID/STATE, e= INVALID/STATE, n=2")
}

func TestConnectFillsOrPushesSetpoints(t *testing.T) {
	s := newSlave(true, 1)
	s.holds(1, 3, 0, 1, 2, 3)
	u := newRig(t, s).unit("dev", `
attributes:
  read: {table: holding, address: 0, kind: int16, access: rw}
  none: {table: holding, address: 1, kind: int16, access: rw, on_connect: none}
  push: {table: holding, address: 2, kind: int16, access: rw, on_connect: push}
`).connect()
	expect(t, u.show(u.sink.readings), "none=2, push=3, read=1, read(setpoint)=1")
	expect(t, u.put("push", "30"), "verified: push=30")
	if err := u.driver.Close(); err != nil {
		t.Fatal(err)
	}
	s.holds(1, 3, 0, 11, 12, 13)
	u.sink.readings = nil
	u.connect()
	expect(t, u.show(u.sink.readings), "push=30, none=12, push=30, read=11, read(setpoint)=11")
	if got := s.word(1, 2); got != 30 {
		t.Errorf("the register is %d", got)
	}
}

func TestUnitsShareALine(t *testing.T) {
	s := newSlave(false, 1, 2)
	s.holds(1, 3, 0, 11)
	s.holds(2, 3, 0, 22)
	r := newRig(t, s)
	const attributes = `
reply_timeout: 300ms
attributes: {x: {table: holding, address: 0, kind: int16, poll: 1s}}`
	one, two := r.unit("one", "\nunit: 1"+attributes).connect(), r.unit("two", "\nunit: 2"+attributes).connect()
	gone := r.unit("gone", "\nunit: 3"+attributes).connect()
	expect(t, gone.poll("x"), "x= INVALID/TIMEOUT")
	r.slave.asked()
	for range 3 {
		expect(t, one.poll("x"), "x=11")
		expect(t, two.poll("x"), "x=22")
	}
	if asked := r.slave.asked(); strings.Count(asked, ":") != 6 {
		t.Errorf("a unit that is away costs the others requests: %s", asked)
	}
}

func TestRepliesInPieces(t *testing.T) {
	both(t, func(t *testing.T, overTCP bool) {
		for pieces := 1; pieces < 13; pieces++ {
			s := newSlave(overTCP, 1)
			s.holds(1, 3, 0, 0x0102, 0x0304)
			u := newRig(t, s, linktest.Faults{Split: pieces}).unit("dev", `
attributes: {x: {table: holding, address: 0, kind: int32, poll: 1s, access: rw}}`).connect()
			expect(t, u.poll("x"), "x=16909060")
			expect(t, u.put("x", "5"), "verified: x=5")
		}
	})
}

func TestOneLineHasOneFraming(t *testing.T) {
	r := newRig(t, newSlave(false, 1))
	const attributes = "\nattributes: {x: {table: holding, address: 0, kind: int16, poll: 1s}}"
	r.unit("one", attributes)
	if _, err := r.lines.New("two", decode(t, "framing: tcp"+attributes), r.line, 0, zerolog.Nop()); err == nil {
		t.Error("a line takes both framings")
	}
}

func TestLineShare(t *testing.T) {
	r := newRig(t, newSlave(false, 1))
	u := r.unit("one", `
silence: 5ms
attributes: {x: {table: holding, address: 0, kind: int16, shape: 10, poll: 100ms}}`)
	// 8 bytes there, 25 back and two silences, ten times a second.
	if got := u.driver.LineShare(time.Millisecond); math.Abs(got-0.43) > 1e-9 {
		t.Errorf("the share is %v", got)
	}
}
