package modbus_test

import (
	"strings"
	"testing"
)

// TestMistakes checks what is said of a wrong file.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct{ file, says string }{
		"right": {"framing: rtu\nattributes: {x: {table: coil, address: 0, kind: bool}}", ""},
		"empty": {"{}", `: framing is missing: rtu on a serial line or behind a converter that passes frames on as they are, tcp for Modbus TCP
: a device needs attributes`},
		"framing": {"framing: ascii\nattributes: {x: {table: coil, address: 0, kind: bool}}", `framing: "ascii" is neither rtu nor tcp`},
		"units":   {"framing: rtu\nunit: 0\nattributes: {x: {table: coil, address: 0, kind: bool}}", `unit: there is no unit 0: want 1 to 247`},
		"numbers": {"framing: tcp\nunit: 256\nreply_timeout: -1s\nmax_registers: 126\nmax_coils: 2001\nmax_gap: 125\nwrite: mask\nbyte_order: middle\nattributes: {x: {table: coil, address: 0, kind: bool}}", `unit: there is no unit 256: want 0 to 255
reply_timeout: -1s: want a time up to 1h0m0s
max_registers: 126: want 1 to 125
max_coils: 2001: want 1 to 2000
max_gap: a gap of 125: want 0 to 124
write: "mask" is neither single nor multiple
byte_order: "middle" is neither big nor little`},
		"nothing said": {"framing: tcp\nattributes: {x: {kind: bool}}", `attributes.x: a table is missing: coil, discrete, input or holding`},
		"no address":   {"framing: tcp\nattributes: {x: {kind: bool, table: coil}}", `attributes.x: an address is missing; addresses begin with 0`},
		"table":        {"framing: tcp\nattributes: {x: {kind: bool, table: coils, address: 0}}", `attributes.x.table: there is no table "coils": did you mean "coil"?`},
		"addresses": {"framing: tcp\nattributes: {a: {kind: int32, table: input, address: 65535}, b: {kind: int16, table: input, address: -1}, c: {kind: int16, table: holding, address: 40001}}", `attributes.a.address: 65535 to 65536: want addresses from 0 to 65535
attributes.b.address: -1 to -1: want addresses from 0 to 65535
attributes.c.address: warning: addresses begin with 0: if 40001 is how a manual counts, this is 0`},
		"too much": {"framing: tcp\nmax_registers: 20\nattributes: {a: {kind: int32, table: input, address: 0, shape: 11}, b: {kind: bool, table: coil, address: 0, shape: 2001}}", `attributes.a.address: 22 addresses do not fit into one request, which takes 20
attributes.b.address: 2001 addresses do not fit into one request, which takes 2000`},
		"too much to write": {"framing: tcp\nattributes: {a: {kind: int16, table: holding, address: 0, shape: 124, access: rw}}", `attributes.a.address: 124 addresses do not fit into one request, which takes 123`},
		"types": {"framing: tcp\nattributes: {a: {kind: float64, table: input, address: 0}, b: {kind: int16, type: int17, table: input, address: 0}, c: {kind: int16, type: string, max_length: 4, table: input, address: 0}, d: {kind: string, table: input, address: 0}, e: {kind: bool, type: float32, table: input, address: 0}, f: {kind: int16, table: coil, type: int16, address: 0}, g: {kind: bytes, table: input, address: 0}, h: {kind: int16, scale: 0.1, table: input, address: 0}}", `attributes.a: type is missing: what the registers hold, such as int16 or float32
attributes.b.type: there is no type "int17": did you mean "int16"?
attributes.c.max_length: only a string or bytes has a length, this is int16
attributes.c.type: the type is string and the kind int16: both are string, or none
attributes.d.max_length: a text needs max_length: its bytes in the device, two to a register
attributes.e.type: bool needs an integer type
attributes.f.kind: a bit is a bool or an enum, not int16
attributes.f.type: this is for registers, and the table coil holds single bits
attributes.g.kind: bytes are not offered here: take an array of uint16
attributes.h: type is missing: what the registers hold, such as int16 or float32`},
		"parts": {"framing: tcp\nattributes: {a: {kind: bool, bit: 16, table: input, address: 0}, b: {kind: int16, width: 2, table: input, address: 0}, c: {kind: int16, type: int16, bit: 0, table: input, address: 0}, d: {kind: uint16, bit: 0, shape: 2, table: input, address: 0}}", `attributes.a.bit: 1 bits from 16 on: uint16 has bits 0 to 15
attributes.b.width: a width needs bit: the lowest bit of the part
attributes.c.bit: a part of a number needs an unsigned type, this is int16
attributes.d.bit: a part of a number cannot be the element of an array`},
		"states": {"framing: tcp\nattributes: {a: {kind: enum, states: [A, {label: B, raw: x}, {label: C, raw: 70000}], table: input, address: 0}, b: {kind: enum, states: [A, B, C], table: coil, address: 0}, c: {kind: enum, states: [A, B, C], bit: 0, table: input, address: 0}}", `attributes.a.states.1.raw: "x" is no whole number
attributes.a.states.2: the device cannot hold it: 70000 does not fit uint16
attributes.b.states.2: the device cannot hold it: 2 is not 0 or 1
attributes.c.states.2: the device cannot hold it: 2 is outside the upper limit 1`},
		"writing": {"framing: tcp\nattributes: {a: {kind: bool, table: discrete, address: 0, access: rw}, b: {kind: int32, table: holding, address: 0, access: rw, write: single}, c: {kind: int16, table: holding, address: 0, access: rw, write: mask}, d: {kind: int16, table: holding, address: 0, write: multiple}, e: {kind: int16, table: holding, address: 0, access: w, poll: 1s}, f: {kind: int16, table: holding, address: 0, access: w, on_connect: twice}}", `attributes.a.access: nothing can be written to the table discrete
attributes.b.write: 2 addresses cannot be written with the function for a single one
attributes.c.write: a mask is for a part of one holding register, with bit and width
attributes.d.write: access r cannot be written
attributes.e.poll: access w is never read
attributes.f.on_connect: "twice" is none of read, push and none
attributes.f.on_connect: only an rw attribute has both a setpoint and a readback`},
		"scales": {"framing: tcp\nattributes: {a: {kind: float64, type: int16, scale: 0, table: input, address: 0}, b: {kind: bool, scale: 2, table: coil, address: 0}}", `attributes.a.scale: scale 0 and offset 0 make no number
attributes.b.scale: only a number in registers has scale and offset`},
	} {
		t.Run(name, func(t *testing.T) {
			config := decode(t, c.file)
			var said []string
			for _, problem := range config.Check("dev") {
				said = append(said, problem.String())
			}
			expect(t, strings.Join(said, "\n"), c.says)
		})
	}
}
