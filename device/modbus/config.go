package modbus

import (
	"time"

	"github.com/polygate/gateway/device/describe"
)

// Config says how one unit is spoken to.
type Config struct {
	Description string `yaml:"description" json:"description,omitempty"`
	// Framing is rtu, on serial lines and on TCP connections to a converter that
	// passes on what it gets, or tcp.
	Framing string `yaml:"framing" json:"framing" jsonschema:"enum=rtu,enum=tcp,required"`
	// Unit is the number of the unit: 1 to 247 with rtu, 0 to 255 with tcp; 1
	// where it is not set.
	Unit *int `yaml:"unit" json:"unit,omitempty" jsonschema:"minimum=0,maximum=255"`

	// ReplyTimeout is how long a reply may take to begin (default 1s),
	// ReadTimeout how long it may pause once it has begun (default 100ms).
	ReplyTimeout time.Duration `yaml:"reply_timeout" json:"reply_timeout,omitempty"`
	ReadTimeout  time.Duration `yaml:"read_timeout" json:"read_timeout,omitempty"`
	// QuietTime is how long a serial line must be silent after a reply that did
	// not come, before something is asked that it could answer (default: half
	// the reply timeout).
	QuietTime time.Duration `yaml:"quiet_time" json:"quiet_time,omitempty"`
	// Silence is the shortest pause in front of a request on a serial line. Where
	// it is not set it is 3.5 characters, and 1.75ms from 19200 baud on.
	Silence time.Duration `yaml:"silence" json:"silence,omitempty"`

	// ByteOrder is big (the default) or little: how the two bytes of each
	// register stand. WordOrder is the order of the registers of one value.
	ByteOrder string `yaml:"byte_order" json:"byte_order,omitempty" jsonschema:"enum=big,enum=little"`
	WordOrder string `yaml:"word_order" json:"word_order,omitempty" jsonschema:"enum=big,enum=little"`
	// MaxRegisters and MaxCoils are the most that the unit gives in one reply;
	// 125 and 2000 where they are not set.
	MaxRegisters int `yaml:"max_registers" json:"max_registers,omitempty" jsonschema:"minimum=1,maximum=125"`
	MaxCoils     int `yaml:"max_coils" json:"max_coils,omitempty" jsonschema:"minimum=1,maximum=2000"`
	// MaxGap is how many registers that nobody wants, or 16 times as many coils,
	// are read to save a request (default 8).
	MaxGap *int `yaml:"max_gap" json:"max_gap,omitempty" jsonschema:"minimum=0,maximum=124"`
	// Write is how coils and registers are written where an attribute does not
	// say: single or multiple.
	Write string `yaml:"write" json:"write,omitempty" jsonschema:"enum=single,enum=multiple"`

	CA DeviceCA `yaml:"ca" json:"ca,omitempty"`

	Attributes map[string]Attribute `yaml:"attributes" json:"attributes,omitempty"`
}

// DeviceCA is what Channel Access wants to know of the device.
type DeviceCA struct {
	Prefix string `yaml:"prefix" json:"prefix,omitempty"`
}

// An Attribute is a value of the unit, and where it is.
type Attribute struct {
	describe.Attribute `yaml:",inline"`

	// Table is coil, discrete, input or holding.
	Table string `yaml:"table" json:"table" jsonschema:"enum=coil,enum=discrete,enum=input,enum=holding,required"`
	// Address is the protocol's, from 0: register 40001 of a manual is address 0
	// of the table holding.
	Address *int `yaml:"address" json:"address" jsonschema:"minimum=0,maximum=65535,required"`
	// Type is what the registers hold: int16, uint16, int32, uint32, int64,
	// uint64, float32, float64 or string. Where it is not set it follows from
	// the kind, if that can be.
	Type string `yaml:"type" json:"type,omitempty" jsonschema:"enum=int16,enum=uint16,enum=int32,enum=uint32,enum=int64,enum=uint64,enum=float32,enum=float64,enum=string"`
	// Bit is the lowest bit of a part of an unsigned number, from 0, and Width
	// how many bits that part has (default 1).
	Bit   *int `yaml:"bit" json:"bit,omitempty" jsonschema:"minimum=0,maximum=63"`
	Width int  `yaml:"width" json:"width,omitempty" jsonschema:"minimum=1,maximum=63"`
	// ByteOrder and WordOrder replace the device's.
	ByteOrder string `yaml:"byte_order" json:"byte_order,omitempty" jsonschema:"enum=big,enum=little"`
	WordOrder string `yaml:"word_order" json:"word_order,omitempty" jsonschema:"enum=big,enum=little"`
	// The attribute's value is Scale times the unit's number plus Offset.
	Scale  describe.Number `yaml:"scale" json:"scale,omitempty"`
	Offset describe.Number `yaml:"offset" json:"offset,omitempty"`

	// Poll is how often it is read; without it the value is read on connect and
	// after a put.
	Poll time.Duration `yaml:"poll" json:"poll,omitempty"`
	// MaxAge is when the value is stale, where the default does not fit.
	MaxAge time.Duration `yaml:"max_age" json:"max_age,omitempty"`

	// Write is single, multiple, or for a part of a register mask: the unit
	// itself changes the bits. Without it the part is read, changed and written.
	Write string `yaml:"write" json:"write,omitempty" jsonschema:"enum=single,enum=multiple,enum=mask"`
	// ReadBack false leaves out reading the value after a put.
	ReadBack *bool `yaml:"read_back" json:"read_back,omitempty"`
	// OnConnect says what happens to an rw attribute on each connect: "read"
	// (default) takes the unit's value as setpoint, "push" sends the last
	// setpoint to the unit, "none" leaves both alone.
	OnConnect string `yaml:"on_connect" json:"on_connect,omitempty" jsonschema:"enum=read,enum=push,enum=none"`
}

// Defaults of Config.
const (
	DefaultReplyTimeout = time.Second
	DefaultReadTimeout  = 100 * time.Millisecond
	DefaultMaxGap       = 8
)
