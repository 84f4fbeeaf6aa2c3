package main

import (
	"fmt"
	"net"
	"time"

	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/sim"
)

// linkConfig is one entry of the section "links": a serial port, a TCP or UDP
// address, or a simulated instrument.
type linkConfig struct {
	Port      string        `yaml:"port,omitempty" json:"port,omitempty" jsonschema:"description=Serial port; a name below /dev/serial/by-id stays the same when it is plugged in again"`
	Baud      int           `yaml:"baud,omitempty" json:"baud,omitempty" jsonschema:"description=Bits per second (default 9600)"`
	DataBits  int           `yaml:"data_bits,omitempty" json:"data_bits,omitempty" jsonschema:"minimum=5,maximum=8"`
	StopBits  int           `yaml:"stop_bits,omitempty" json:"stop_bits,omitempty" jsonschema:"minimum=1,maximum=2"`
	Parity    string        `yaml:"parity,omitempty" json:"parity,omitempty" jsonschema:"enum=none,enum=even,enum=odd,enum=mark,enum=space"`
	Flow      string        `yaml:"flow,omitempty" json:"flow,omitempty" jsonschema:"enum=none,enum=xonxoff,enum=rtscts"`
	DTR       *bool         `yaml:"dtr,omitempty" json:"dtr,omitempty" jsonschema:"description=Level of this modem line after opening; untouched if not set"`
	RTS       *bool         `yaml:"rts,omitempty" json:"rts,omitempty" jsonschema:"description=Level of this modem line after opening; untouched if not set"`
	RS485     *rs485Config  `yaml:"rs485,omitempty" json:"rs485,omitempty"`
	OpenDelay time.Duration `yaml:"open_delay,omitempty" json:"open_delay,omitempty" jsonschema:"description=How long to wait after opening"`

	TCP string `yaml:"tcp,omitempty" json:"tcp,omitempty" jsonschema:"description=host:port of an instrument or a terminal server"`
	UDP string `yaml:"udp,omitempty" json:"udp,omitempty" jsonschema:"description=host:port of an instrument that answers to datagrams"`
	Sim string `yaml:"sim,omitempty" json:"sim,omitempty" jsonschema:"description=A simulated instrument,enum=temperature-controller"`
}

type rs485Config struct {
	SendLow     bool          `yaml:"send_low,omitempty" json:"send_low,omitempty"`
	ReceiveOwn  bool          `yaml:"receive_own,omitempty" json:"receive_own,omitempty"`
	DelayBefore time.Duration `yaml:"delay_before,omitempty" json:"delay_before,omitempty"`
	DelayAfter  time.Duration `yaml:"delay_after,omitempty" json:"delay_after,omitempty"`
}

// simSeed draws the noise of simulated instruments: the same at every start, so
// that what a demo shows can be shown again.
const simSeed = 1

// opener makes what opens the link, or says what is wrong with the settings.
func (c *linkConfig) opener() (link.Opener, error) {
	ways := 0
	for _, way := range []string{c.Port, c.TCP, c.UDP, c.Sim} {
		if way != "" {
			ways++
		}
	}
	if ways != 1 {
		return nil, fmt.Errorf("want exactly one of port, tcp, udp and sim, got %d", ways)
	}
	if c.Port == "" && c.serialSettings() {
		return nil, fmt.Errorf("baud and the other settings of a serial port need port")
	}
	switch {
	case c.TCP != "":
		if _, _, err := net.SplitHostPort(c.TCP); err != nil {
			return nil, fmt.Errorf("tcp: want host:port: %w", err)
		}
		return link.TCP{Address: c.TCP}, nil
	case c.UDP != "":
		if _, _, err := net.SplitHostPort(c.UDP); err != nil {
			return nil, fmt.Errorf("udp: want host:port: %w", err)
		}
		return link.UDP{Address: c.UDP}, nil
	case c.Sim != "":
		return sim.NewOpener(c.Sim, simSeed, nil)
	}
	serial := c.serial()
	if err := serial.Validate(); err != nil {
		return nil, err
	}
	return serial, nil
}

func (c *linkConfig) serialSettings() bool {
	rest := *c
	rest.Port, rest.TCP, rest.UDP, rest.Sim = "", "", "", ""
	return rest != linkConfig{}
}

func (c *linkConfig) serial() link.Serial {
	s := link.Serial{
		Path: c.Port, Baud: c.Baud, DataBits: c.DataBits, StopBits: c.StopBits,
		Parity: link.Parity(c.Parity), Flow: link.Flow(c.Flow), DTR: c.DTR, RTS: c.RTS, OpenDelay: c.OpenDelay,
	}
	if r := c.RS485; r != nil {
		s.RS485 = &link.RS485{SendLow: r.SendLow, ReceiveOwn: r.ReceiveOwn, DelayBefore: r.DelayBefore, DelayAfter: r.DelayAfter}
	}
	return s
}
