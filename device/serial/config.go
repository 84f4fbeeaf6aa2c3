package serial

import (
	"time"

	"github.com/polygate/gateway/device/describe"
)

// Problem is one mistake in a device's configuration.
type Problem = describe.Problem

// Config says how one instrument is spoken to. All requests and replies, and
// the terminators, are written in the format language; {index} in a group and
// {address} everywhere stand for the text that the file gives them.
type Config struct {
	Description string `yaml:"description" json:"description,omitempty"`
	// Address replaces {address} in requests and replies.
	Address describe.Scalar `yaml:"address" json:"address,omitempty"`

	// Terminator ends every line, both ways; OutTerminator and InTerminator
	// replace it in one direction. Empty is not the same as unset: an empty
	// out_terminator sends nothing behind a request, and with an empty
	// in_terminator a reply ends when the line is silent for the read timeout.
	// Where none is set there is none.
	Terminator    *string `yaml:"terminator" json:"terminator,omitempty"`
	OutTerminator *string `yaml:"out_terminator" json:"out_terminator,omitempty"`
	InTerminator  *string `yaml:"in_terminator" json:"in_terminator,omitempty"`
	// CheckBytes is how many bytes follow behind the terminator of a reply, as
	// a checksum does. The terminator and they are then part of what a reply's
	// format sees: "\x02PV%f\x03%<xor>".
	CheckBytes int `yaml:"check_bytes" json:"check_bytes,omitempty"`
	// ReplyLength is the length of replies, in bytes, where they
	// have no terminator. A pause of the read timeout begins another reply.
	ReplyLength Length `yaml:"reply_length" json:"reply_length,omitempty"`

	// LoneBytes are bytes that are a whole reply by themselves where one would
	// begin, with no terminator behind them: '\x06\x15' for ACK and NAK.
	LoneBytes string `yaml:"lone_bytes" json:"lone_bytes,omitempty"`

	// ReplyTimeout is how long a reply may take to begin (default 1s),
	// ReadTimeout how long it may pause once it has begun (default 100ms).
	ReplyTimeout time.Duration `yaml:"reply_timeout" json:"reply_timeout,omitempty"`
	ReadTimeout  time.Duration `yaml:"read_timeout" json:"read_timeout,omitempty"`
	// QuietTime is how long the line must at least be silent after a reply that
	// did not come, before the next request (default: a quarter of the reply timeout).
	QuietTime time.Duration `yaml:"quiet_time" json:"quiet_time,omitempty"`
	// WriteDelay is the shortest pause between the end of one exchange and the
	// next request, for instruments that need to catch their breath.
	WriteDelay time.Duration `yaml:"write_delay" json:"write_delay,omitempty"`

	// Before is sent in front of every read and write, with nothing of anybody
	// else between: on a line with several instruments that all listen, such as
	// {send: "ADR {address}", reply: OK}.
	Before Steps `yaml:"before" json:"before,omitempty"`

	// Decimal is the decimal point in replies: "." or ",". Requests always
	// have a point.
	Decimal string `yaml:"decimal" json:"decimal,omitempty"`
	// ExtraInput says what of bytes behind the end of a reply's format: "error"
	// (default), so that the reply does not match, or "ignore".
	ExtraInput string `yaml:"extra_input" json:"extra_input,omitempty"`
	// Echo says that the instrument repeats each request before it answers.
	Echo bool `yaml:"echo" json:"echo,omitempty"`
	// Ignore are formats of lines that mean nothing and are skipped.
	Ignore []string `yaml:"ignore" json:"ignore,omitempty"`
	// Refusals are formats of lines by which the instrument says no, such as
	// "ERR %*d". A put that is answered with one is refused by the device.
	Refusals []string `yaml:"refusals" json:"refusals,omitempty"`

	CA DeviceCA `yaml:"ca" json:"ca,omitempty"`

	Attributes map[string]Attribute `yaml:"attributes" json:"attributes,omitempty"`
	Commands   map[string]Command   `yaml:"commands" json:"commands,omitempty"`
	Queries    map[string]Query     `yaml:"queries" json:"queries,omitempty"`
	Groups     map[string]Group     `yaml:"groups" json:"groups,omitempty"`
}

// DeviceCA is what Channel Access wants to know of the device.
type DeviceCA struct {
	Prefix string `yaml:"prefix" json:"prefix,omitempty"`
}

// An Attribute is a value of the instrument, and how it is read and written.
type Attribute struct {
	describe.Attribute `yaml:",inline"`

	// Read is the request that asks for the value and Reply the format of the
	// answer. Where the instrument wants a handshake, Read is several steps of
	// which the last one is that request. Attributes with the same request are read in one exchange, in
	// which all replies must match.
	Read  Steps  `yaml:"read" json:"read,omitempty"`
	Reply string `yaml:"reply" json:"reply,omitempty"`
	// Poll is how often it is read; without it the value is read on connect
	// and after a put.
	Poll time.Duration `yaml:"poll" json:"poll,omitempty"`
	// MaxAge is when the value is stale, where the default does not fit.
	MaxAge time.Duration `yaml:"max_age" json:"max_age,omitempty"`
	// Listen is the format of a line that the instrument sends unasked.
	Listen string `yaml:"listen" json:"listen,omitempty"`
	// ExtraInput replaces the device's, for reply and listen.
	ExtraInput string `yaml:"extra_input" json:"extra_input,omitempty"`

	// Write is the request that sets the value, or several in a row;
	// WriteReply is what the instrument answers to each that has no reply of
	// its own. Without it nothing is expected.
	Write      Steps   `yaml:"write" json:"write,omitempty"`
	WriteReply *string `yaml:"write_reply" json:"write_reply,omitempty"`
	// Cleanup is sent after a write of several steps that failed on the way.
	Cleanup Steps `yaml:"cleanup" json:"cleanup,omitempty"`
	// Toggle says that the write takes no value, but changes from one of two
	// states to the other. It is sent only if the instrument, asked just before,
	// is not in the wanted state already.
	Toggle bool `yaml:"toggle" json:"toggle,omitempty"`
	// ReadBack false leaves out reading the value after a put.
	ReadBack *bool `yaml:"read_back" json:"read_back,omitempty"`
	// OnConnect says what happens to an rw attribute on each connect: "read"
	// (default) takes the instrument's value as setpoint, "push" sends the
	// last setpoint to the instrument, "none" leaves both alone.
	OnConnect string `yaml:"on_connect" json:"on_connect,omitempty"`

	// Separator stands between the elements of an array. Elements is their
	// exact number; without it any number up to the shape's matches.
	Separator string `yaml:"separator" json:"separator,omitempty"`
	Elements  int    `yaml:"elements" json:"elements,omitempty"`
	// The attribute's value is Scale times the instrument's number plus Offset.
	Scale  describe.Number `yaml:"scale" json:"scale,omitempty"`
	Offset describe.Number `yaml:"offset" json:"offset,omitempty"`
	// SignBits makes a number of so many bits, written as hexadecimal digits or
	// as bytes, negative where its topmost bit is set, before scale and offset.
	// A signed attribute without these needs it not.
	SignBits int `yaml:"sign_bits" json:"sign_bits,omitempty"`
	// Special are replies that stand for no ordinary value.
	Special []Special `yaml:"special" json:"special,omitempty"`
	// Simulate is for the instrument on a link with sim: devices.
	Simulate *Simulate `yaml:"simulate" json:"simulate,omitempty"`
}

// A Special is a reply such as "OVERLD" or 9.9E37 and what it means. The first
// that applies counts.
type Special struct {
	// Text is a whole reply, blanks around it left out. Above and Below are
	// limits of the instrument's number, before scale and offset.
	Text  string          `yaml:"text" json:"text,omitempty"`
	Above describe.Number `yaml:"above" json:"above,omitempty"`
	Below describe.Number `yaml:"below" json:"below,omitempty"`
	// Value is nan, inf or -inf, for floats. Without it there is no value, and
	// the reading has failed.
	Value string `yaml:"value" json:"value,omitempty"`
	// Severity and Status are the alarm: INVALID and READ where they are not set.
	Severity string `yaml:"severity" json:"severity,omitempty"`
	Status   string `yaml:"status" json:"status,omitempty"`
}

// A Command is something that the instrument does on demand.
type Command struct {
	Description string      `yaml:"description" json:"description,omitempty"`
	CA          describe.CA `yaml:"ca" json:"ca,omitempty"`
	// Send is what is sent, one request or several. A converter in it takes
	// the argument.
	Send Steps `yaml:"send" json:"send"`
	// SendReply is what the instrument answers to each request that has no
	// reply of its own. Reply is the format of the result, which comes last.
	SendReply *string        `yaml:"send_reply" json:"send_reply,omitempty"`
	Reply     string         `yaml:"reply" json:"reply,omitempty"`
	Cleanup   Steps          `yaml:"cleanup" json:"cleanup,omitempty"`
	Argument  *describe.Type `yaml:"argument" json:"argument,omitempty"`
	Result    *describe.Type `yaml:"result" json:"result,omitempty"`
}

// A Query is one request whose reply holds the values of several attributes,
// in the order of its converters. They have no read and no reply of their own.
// With listen in the place of read it is a line that comes unasked.
type Query struct {
	Read   Steps    `yaml:"read" json:"read,omitempty"`
	Listen string   `yaml:"listen" json:"listen,omitempty"`
	Reply  string   `yaml:"reply" json:"reply,omitempty"`
	Values []string `yaml:"values" json:"values"`
	// ExtraInput replaces the device's.
	ExtraInput string        `yaml:"extra_input" json:"extra_input,omitempty"`
	Poll       time.Duration `yaml:"poll" json:"poll,omitempty"`
	MaxAge     time.Duration `yaml:"max_age" json:"max_age,omitempty"`
}

// A Group writes like attributes once. The group ramp with index [1, 2] and
// the attribute start makes ramp1.start and ramp2.start; {index} in its
// requests, replies, descriptions and PV names is 1 and 2.
type Group struct {
	Index      []describe.Scalar    `yaml:"index" json:"index"`
	Attributes map[string]Attribute `yaml:"attributes" json:"attributes,omitempty"`
	Commands   map[string]Command   `yaml:"commands" json:"commands,omitempty"`
	Queries    map[string]Query     `yaml:"queries" json:"queries,omitempty"`
}

// Defaults of Config.
const (
	DefaultReplyTimeout = time.Second
	DefaultReadTimeout  = 100 * time.Millisecond
)
