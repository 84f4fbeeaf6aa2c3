package link

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// RFC2217 is a serial port of a terminal server that takes its settings by
// telnet, as RFC 2217 says. The server's hints to pause sending are not heeded:
// TCP holds us up if need be.
type RFC2217 struct {
	Address  string
	Settings Serial // without Path and RS485
}

var (
	_ Opener = RFC2217{}
	_ remote = RFC2217{}
)

func (RFC2217) remote() {}

func (r RFC2217) String() string { return "rfc2217 " + r.Address + " at " + r.Settings.settings() }

// XonXoff reports whether the bytes 0x11 and 0x13 are flow control.
func (r RFC2217) XonXoff() bool { return r.Settings.XonXoff() }

// Rate returns the baud rate of the server's serial port.
func (r RFC2217) Rate() int { return r.Settings.Rate() }

// ByteTime is how long one byte takes on the wire.
func (r RFC2217) ByteTime() time.Duration { return r.Settings.ByteTime() }

// Validate checks the settings without connecting.
func (r RFC2217) Validate() error {
	if r.Settings.RS485 != nil {
		return errors.New("the protocol of the terminal server cannot switch an RS-485 line")
	}
	return r.Settings.validateSettings()
}

// Open connects, and returns once the server has confirmed every setting. What
// the instrument sends before is not kept: it was read with other settings.
func (r RFC2217) Open(ctx context.Context) (Port, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	inner, err := TCP{Address: r.Address}.Open(ctx)
	if err != nil {
		return nil, err
	}
	p := &rfc2217Port{Port: inner}
	err = p.setUp(ctx, r.Settings.withDefaults())
	if err == nil {
		err = pause(ctx, r.Settings.OpenDelay)
	}
	if err != nil {
		inner.Close()
		return nil, fmt.Errorf("setting up the port at %s: %w", r.Address, err)
	}
	return p, nil
}

// Commands of RFC 2217 section 3, from the client; the server answers with the
// number plus 100.
const (
	comSetBaud     = 1
	comSetDataSize = 2
	comSetParity   = 3
	comSetStopSize = 4
	comSetControl  = 5
	comAnswer      = 100

	comBreakOn  = 5
	comBreakOff = 6
)

// rfc2217Port is an open port of a terminal server. As only one goroutine at a
// time uses a port in an exchange, answers to the server need no lock.
type rfc2217Port struct {
	Port
	in      telnetReader
	options telnetOptions
	pending []comRequest // settings that the server has not confirmed
	refused error        // the first one that it did not do
}

// comRequest is a setting.
type comRequest struct {
	command byte
	value   uint32
	what    string
}

func (p *rfc2217Port) setUp(ctx context.Context, s Serial) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		p.SetReadDeadline(past)
		p.SetWriteDeadline(past)
	})
	err := p.negotiateAll(s)
	if !stop() {
		<-interrupted
		return fmt.Errorf("the server does not answer: %w", context.Cause(ctx))
	}
	return err
}

func (p *rfc2217Port) negotiateAll(s Serial) error {
	o := &p.options
	o.ask(telnetWill, optionBinary)
	o.ask(telnetDo, optionBinary)
	o.ask(telnetWill, optionSGA)
	o.ask(telnetDo, optionSGA)
	o.ask(telnetWill, optionComPort)
	o.they[optionComPort] = optionOff // Some servers offer it, too.
	err := p.readUntil(func() (bool, error) {
		for _, a := range []telnetAgreement{o.we[optionBinary], o.they[optionBinary], o.we[optionComPort]} {
			if a == optionOff {
				return false, errors.New("the server does not do RFC 2217 in binary mode")
			}
			if a != optionOn {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	p.pending = comSettings(s)
	for _, q := range p.pending {
		o.out = q.append(o.out)
	}
	return p.readUntil(func() (bool, error) { return len(p.pending) == 0, p.refused })
}

// readUntil sends what is to be sent and reads until done says so.
func (p *rfc2217Port) readUntil(done func() (bool, error)) error {
	buf := make([]byte, readSize)
	for {
		if err := p.answer(); err != nil {
			return err
		}
		if ok, err := done(); ok || err != nil {
			return err
		}
		n, err := p.Port.Read(buf)
		p.in.decode(buf[:0], buf[:n], p)
		if err != nil {
			return err
		}
	}
}

// comSettings are the requests for the settings of s.
func comSettings(s Serial) []comRequest {
	parity := map[Parity]uint32{ParityNone: 1, ParityOdd: 2, ParityEven: 3, ParityMark: 4, ParitySpace: 5}
	flow := map[Flow]uint32{FlowNone: 1, FlowXonXoff: 2, FlowRTSCTS: 3}
	q := []comRequest{
		{comSetBaud, uint32(s.Baud), "baud rate"},
		{comSetDataSize, uint32(s.DataBits), "data bits"},
		{comSetParity, parity[s.Parity], "parity"},
		{comSetStopSize, uint32(s.StopBits), "stop bits"},
		{comSetControl, flow[s.Flow], "flow control"},
	}
	for _, l := range []struct {
		on      *bool
		yes, no uint32
		what    string
	}{{s.DTR, 8, 9, "DTR"}, {s.RTS, 11, 12, "RTS"}} {
		switch {
		case l.on == nil:
		case *l.on:
			q = append(q, comRequest{comSetControl, l.yes, l.what})
		default:
			q = append(q, comRequest{comSetControl, l.no, l.what})
		}
	}
	return q
}

func (q comRequest) append(dst []byte) []byte {
	dst = append(dst, telnetIAC, telnetSB, optionComPort, q.command)
	if q.command == comSetBaud {
		dst = telnetEscape(dst, binary.BigEndian.AppendUint32(nil, q.value))
	} else {
		dst = append(dst, byte(q.value))
	}
	return append(dst, telnetIAC, telnetSE)
}

func (p *rfc2217Port) negotiate(verb, option byte) { p.options.negotiate(verb, option) }

// subnegotiate takes the server's confirmations. What it tells of the state of
// its port is not used.
func (p *rfc2217Port) subnegotiate(b []byte) {
	if len(p.pending) == 0 || len(b) < 3 || b[0] != optionComPort || b[1] != p.pending[0].command+comAnswer {
		return
	}
	q := p.pending[0]
	p.pending = p.pending[1:]
	got := uint32(b[2])
	if q.command == comSetBaud {
		if len(b) < 6 {
			p.refused = fmt.Errorf("the server's answer about the %s is too short", q.what)
			return
		}
		got = binary.BigEndian.Uint32(b[2:])
	}
	if got != q.value && p.refused == nil {
		p.refused = fmt.Errorf("the server does not take the %s: asked for %d, it says %d", q.what, q.value, got)
	}
}

// answer sends what the protocol asks for.
func (p *rfc2217Port) answer() error {
	if len(p.options.out) == 0 {
		return nil
	}
	if _, err := p.Port.Write(p.options.out); err != nil {
		return err
	}
	p.options.out = p.options.out[:0]
	return nil
}

// Read reads data.
func (p *rfc2217Port) Read(b []byte) (int, error) {
	for {
		n, err := p.Port.Read(b)
		if n == 0 {
			return 0, err
		}
		if n, err = p.data(b[:n]); n > 0 || err != nil {
			return n, err
		}
	}
}

// ReadNow reads data without waiting.
func (p *rfc2217Port) ReadNow(b []byte) (int, error) {
	for {
		n, err := ReadNow(p.Port, b)
		if n == 0 {
			return 0, err
		}
		if n, err = p.data(b[:n]); n > 0 || err != nil {
			return n, err
		}
	}
}

// data keeps the data of b, in place, and answers the rest.
func (p *rfc2217Port) data(b []byte) (int, error) {
	n := len(p.in.decode(b[:0], b, p))
	if len(p.options.out) > 0 {
		p.SetWriteDeadline(time.Now().Add(writeLimit)) // The last write's may be over.
		if err := p.answer(); err != nil {
			// Not wrapped: that the time for it ran out is a loss, too.
			return 0, errors.New("answering the terminal server: " + err.Error())
		}
	}
	return n, nil
}

// Write sends data.
func (p *rfc2217Port) Write(b []byte) (int, error) {
	n, err := p.Port.Write(telnetEscape(make([]byte, 0, len(b)+8), b))
	return telnetTaken(b, n), err
}

// Break holds the port in the break condition for d.
func (p *rfc2217Port) Break(ctx context.Context, d time.Duration) error {
	set := func(value uint32) error {
		p.SetWriteDeadline(time.Now().Add(writeLimit))
		_, err := p.Port.Write(comRequest{command: comSetControl, value: value}.append(nil))
		return err
	}
	if err := set(comBreakOn); err != nil {
		return err
	}
	return errors.Join(pause(ctx, d), set(comBreakOff))
}
