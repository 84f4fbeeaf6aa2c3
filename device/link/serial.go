package link

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Parity is the parity bit of a serial port.
type Parity string

// The parities. The empty Parity is ParityNone.
const (
	ParityNone  Parity = "none"
	ParityEven  Parity = "even"
	ParityOdd   Parity = "odd"
	ParityMark  Parity = "mark"
	ParitySpace Parity = "space"
)

// Flow is the flow control of a serial port.
type Flow string

// The kinds of flow control. The empty Flow is FlowNone. With FlowXonXoff the
// bytes 0x11 and 0x13 are not data; every other setting carries all 256 values.
const (
	FlowNone    Flow = "none"
	FlowXonXoff Flow = "xonxoff"
	FlowRTSCTS  Flow = "rtscts"
)

// RS485 lets the port's driver switch the direction of a half-duplex line.
type RS485 struct {
	// SendLow is for transceivers that send while RTS is low.
	SendLow bool
	// ReceiveOwn also receives what is sent.
	ReceiveOwn bool
	// DelayBefore and DelayAfter keep the direction before the first and after
	// the last bit, in whole milliseconds.
	DelayBefore, DelayAfter time.Duration
}

// Serial is the address and the settings of a serial port. Only Path must be set.
type Serial struct {
	Path     string // a symbolic link, as in /dev/serial/by-id, is followed when it changes
	Baud     int    // any rate that the port can do; 0 is 9600
	DataBits int    // 5 to 8; 0 is 8
	StopBits int    // 1 or 2; 0 is 1
	Parity   Parity
	Flow     Flow
	RS485    *RS485

	// DTR and RTS set the modem lines after opening. Unless they are set, only
	// the operating system touches the lines, and ports without any will do.
	DTR, RTS *bool

	// OpenDelay is how long to wait after opening, as for a device that is
	// reset by it. What arrives meanwhile is kept.
	OpenDelay time.Duration
}

var _ Opener = Serial{}

// withDefaults returns s with its zero settings replaced.
func (s Serial) withDefaults() Serial {
	s.Baud = cmp.Or(s.Baud, 9600)
	s.DataBits = cmp.Or(s.DataBits, 8)
	s.StopBits = cmp.Or(s.StopBits, 1)
	s.Parity = cmp.Or(s.Parity, ParityNone)
	s.Flow = cmp.Or(s.Flow, FlowNone)
	return s
}

// Validate checks the settings without opening the port.
func (s Serial) Validate() error {
	if s.Path == "" {
		return errors.New("the port has no path")
	}
	return s.validateSettings()
}

func (s Serial) validateSettings() error {
	s = s.withDefaults()
	switch {
	case s.Baud < 1 || s.Baud > 100_000_000:
		return fmt.Errorf("%d is not a baud rate", s.Baud)
	case s.DataBits < 5 || s.DataBits > 8:
		return fmt.Errorf("data bits must be 5 to 8, not %d", s.DataBits)
	case s.StopBits != 1 && s.StopBits != 2:
		return fmt.Errorf("stop bits must be 1 or 2, not %d", s.StopBits)
	case s.OpenDelay < 0:
		return fmt.Errorf("the open delay is negative")
	}
	switch s.Parity {
	case ParityNone, ParityEven, ParityOdd, ParityMark, ParitySpace:
	default:
		return fmt.Errorf("parity must be none, even, odd, mark or space, not %q", string(s.Parity))
	}
	switch s.Flow {
	case FlowNone, FlowXonXoff, FlowRTSCTS:
	default:
		return fmt.Errorf("flow control must be none, xonxoff or rtscts, not %q", string(s.Flow))
	}
	if s.Flow == FlowRTSCTS && (s.RTS != nil || s.RS485 != nil) {
		return fmt.Errorf("with rtscts the port itself drives RTS: it cannot be set, nor switch an RS-485 line")
	}
	if r := s.RS485; r != nil {
		for _, d := range []time.Duration{r.DelayBefore, r.DelayAfter} {
			if d < 0 || d > time.Second || d%time.Millisecond != 0 {
				return fmt.Errorf("an RS-485 delay must be whole milliseconds up to 1s, not %s", d)
			}
		}
	}
	return nil
}

// XonXoff reports whether the bytes 0x11 and 0x13 are flow control.
func (s Serial) XonXoff() bool { return s.Flow == FlowXonXoff }

// Rate returns the baud rate.
func (s Serial) Rate() int { return s.withDefaults().Baud }

// String is like "/dev/ttyUSB0 at 9600 8N1".
func (s Serial) String() string { return s.Path + " at " + s.settings() }

func (s Serial) settings() string {
	s = s.withDefaults()
	letter := map[Parity]string{ParityNone: "N", ParityEven: "E", ParityOdd: "O", ParityMark: "M", ParitySpace: "S"}
	text := fmt.Sprintf("%d %d%s%d", s.Baud, s.DataBits, letter[s.Parity], s.StopBits)
	if s.Flow != FlowNone {
		text += " " + string(s.Flow)
	}
	if s.RS485 != nil {
		text += " rs485"
	}
	return text
}

// ByteTime is how long one byte takes on the wire.
func (s Serial) ByteTime() time.Duration {
	s = s.withDefaults()
	bits := 1 + s.DataBits + s.StopBits
	if s.Parity != ParityNone {
		bits++
	}
	return time.Duration(bits) * time.Second / time.Duration(s.Baud)
}
