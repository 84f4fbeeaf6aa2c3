package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/sim"
	"github.com/polygate/gateway/device/stream"
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

	OpenWait      string        `yaml:"open_wait,omitempty" json:"open_wait,omitempty" jsonschema:"description=What the instrument says once the link is open; nothing is sent to it before. A format as in a reply; found anywhere in what comes"`
	OpenWaitLimit time.Duration `yaml:"open_wait_limit,omitempty" json:"open_wait_limit,omitempty" jsonschema:"description=How long to wait for open_wait before the link is closed and opened again (default 10s)"`

	TCP     string `yaml:"tcp,omitempty" json:"tcp,omitempty" jsonschema:"description=host:port of an instrument or a terminal server"`
	RFC2217 string `yaml:"rfc2217,omitempty" json:"rfc2217,omitempty" jsonschema:"description=host:port of a terminal server that is told the settings of its serial port"`
	UDP     string `yaml:"udp,omitempty" json:"udp,omitempty" jsonschema:"description=host:port of an instrument that answers to datagrams"`
	Sim     string `yaml:"sim,omitempty" json:"sim,omitempty" jsonschema:"description=A simulated instrument; devices answers as the devices on this link are described,enum=temperature-controller,enum=devices"`
	Replay  string `yaml:"replay,omitempty" json:"replay,omitempty" jsonschema:"description=A file that watch --bytes --save wrote; its instrument answers again as it did"`
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
	for _, way := range []string{c.Port, c.TCP, c.RFC2217, c.UDP, c.Sim, c.Replay} {
		if way != "" {
			ways++
		}
	}
	if ways != 1 {
		return nil, fmt.Errorf("want exactly one of port, tcp, rfc2217, udp, sim and replay, got %d", ways)
	}
	if c.Port == "" && c.RFC2217 == "" && c.serialSettings() {
		return nil, fmt.Errorf("baud and the other settings of a serial port need port or rfc2217")
	}
	if c.Port == "" && c.RFC2217 == "" && c.TCP == "" && c.OpenWait != "" {
		return nil, fmt.Errorf("open_wait needs port, tcp or rfc2217: nobody speaks first on the others")
	}
	switch {
	case c.TCP != "":
		return link.TCP{Address: c.TCP}, checkAddress("tcp", c.TCP)
	case c.UDP != "":
		return link.UDP{Address: c.UDP}, checkAddress("udp", c.UDP)
	case c.RFC2217 != "":
		remote := link.RFC2217{Address: c.RFC2217, Settings: c.serial()}
		if err := checkAddress("rfc2217", c.RFC2217); err != nil {
			return nil, err
		}
		return remote, remote.Validate()
	case c.Replay != "":
		return sim.NewReplayOpener(c.Replay)
	case c.Sim == simDevices:
		return nil, nil // Its devices are not known yet.
	case c.Sim != "":
		return sim.NewOpener(c.Sim, simSeed, nil)
	}
	serial := c.serial()
	if err := serial.Validate(); err != nil {
		return nil, err
	}
	return serial, nil
}

func checkAddress(key, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", port)
	}
	if err != nil {
		return fmt.Errorf("%s: want host:port: %w", key, err)
	}
	return nil
}

func (c *linkConfig) serialSettings() bool {
	rest := *c
	rest.Port, rest.TCP, rest.RFC2217, rest.UDP, rest.Sim, rest.Replay = "", "", "", "", "", ""
	rest.OpenWait, rest.OpenWaitLimit = "", 0
	return rest != linkConfig{}
}

// Bounds of open_wait_limit.
const (
	defaultOpenWait = 10 * time.Second
	maxOpenWait     = time.Hour
)

// greeting makes what is waited for after opening, nil if that is nothing.
func (c *linkConfig) greeting() (*link.Greeting, error) {
	limit := cmp.Or(c.OpenWaitLimit, defaultOpenWait)
	switch {
	case limit < 0 || limit > maxOpenWait:
		return nil, fmt.Errorf("open_wait_limit %v: want a time up to %v", limit, maxOpenWait)
	case c.OpenWait == "" && c.OpenWaitLimit != 0:
		return nil, fmt.Errorf("open_wait_limit is about open_wait, which is not set")
	case c.OpenWait == "":
		return nil, nil
	}
	format, err := stream.Parse(c.OpenWait, stream.Options{Direction: stream.In})
	if err != nil {
		return nil, fmt.Errorf("open_wait: %w", err)
	}
	if len(format.Fields()) > 0 {
		return nil, fmt.Errorf("open_wait: nobody gets the value of %%%c here: %%*%[1]c only skips it", format.Fields()[0].Verb)
	}
	if _, err := format.Match(nil); err == nil {
		return nil, fmt.Errorf("open_wait: %q is there before anything has come", c.OpenWait)
	}
	find := func(heard []byte) (int, bool) {
		_, end, ok := format.Find(heard)
		return end, ok
	}
	return &link.Greeting{Find: find, Limit: limit}, nil
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
