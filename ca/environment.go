package ca

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/polygate/gateway/ca/cawire"
)

// settings are a Config with what the environment adds.
type settings struct {
	endpoints     []endpoint
	groups        []netip.Addr     // multicast groups that are searched in
	beacons       []netip.AddrPort // beside those of the interfaces
	autoBeacons   bool
	beaconPort    uint16
	beaconPeriod  time.Duration
	ignore        map[netip.Addr]bool
	maxArrayBytes int
}

// defaultMaxArrayBytes is the largest array that a client may write where nothing
// else is said.
const defaultMaxArrayBytes = 16 << 20

// defaultBeaconPeriod is how often a server that runs says so.
const defaultBeaconPeriod = 15 * time.Second

// An environment reads variables and remembers what is wrong with the first bad one.
type environment struct {
	ctx context.Context //nolint:containedctx // It lives as long as one call of resolve.
	get func(string) string
	err error
}

// text returns the first of the variables that is set, with its name.
func (e *environment) text(names ...string) (value, name string) {
	for _, name := range names {
		if value := strings.TrimSpace(e.get(name)); value != "" {
			return value, name
		}
	}
	return "", ""
}

func (e *environment) bad(name, value, want string) {
	if e.err == nil {
		e.err = fmt.Errorf("the environment variable %s is %q: want %s", name, value, want)
	}
}

func (e *environment) port(otherwise uint16, names ...string) (port uint16, set bool) {
	value, name := e.text(names...)
	if value == "" {
		return otherwise, false
	}
	n, err := strconv.ParseUint(value, 10, 16)
	if err != nil || n == 0 {
		e.bad(name, value, "a port from 1 to 65535")
		return otherwise, false
	}
	return uint16(n), true
}

// yes takes what base takes, in any case, and the usual words beside.
func (e *environment) yes(otherwise bool, name string) bool {
	value, _ := e.text(name)
	switch strings.ToLower(value) {
	case "":
		return otherwise
	case "yes", "true", "1":
		return true
	case "no", "false", "0":
		return false
	}
	e.bad(name, value, "YES or NO")
	return otherwise
}

// addresses is a list of hosts with or without ports.
func (e *environment) addresses(defaultPort uint16, name string) []netip.AddrPort {
	value, _ := e.text(name)
	var list []netip.AddrPort
	for item := range strings.FieldsSeq(value) {
		at, err := addressOf(e.ctx, item, defaultPort)
		if err != nil {
			e.bad(name, value, fmt.Sprintf("IPv4 addresses: %v", err))
			return nil
		}
		list = append(list, at)
	}
	return list
}

func addressOf(ctx context.Context, item string, defaultPort uint16) (netip.AddrPort, error) {
	host, port, err := splitHostPort(item, defaultPort)
	if err != nil {
		return netip.AddrPort{}, err
	}
	addr, err := resolveIPv4(ctx, host)
	return netip.AddrPortFrom(addr, port), err
}

// resolve puts a Config and the environment together. The error names what is wrong.
func resolve(ctx context.Context, c Config, getenv func(string) string) (*settings, error) {
	env := &environment{ctx: ctx, get: getenv}
	s := &settings{ignore: map[netip.Addr]bool{}}
	port, portSet := env.port(cawire.DefaultServerPort, "EPICS_CAS_SERVER_PORT", "EPICS_CA_SERVER_PORT")
	s.beaconPort, _ = env.port(cawire.DefaultRepeaterPort, "EPICS_CAS_BEACON_PORT", "EPICS_CA_REPEATER_PORT")
	s.beaconPeriod = env.period("EPICS_CAS_BEACON_PERIOD", "EPICS_CA_BEACON_PERIOD")
	s.maxArrayBytes = env.maxArrayBytes(c.MaxArrayBytes)
	listen := c.Listen
	if len(listen) == 0 {
		for _, at := range env.addresses(0, "EPICS_CAS_INTF_ADDR_LIST") {
			listen = append(listen, Endpoint{Address: at.Addr().String()})
		}
	}
	if len(listen) == 0 {
		listen = Endpoints{{Address: local}}
	}
	for _, e := range listen {
		parsed, err := e.parse(port)
		if err != nil {
			return nil, fmt.Errorf("frontends.ca.listen: %w", err)
		}
		if parsed.host.IsMulticast() {
			s.groups = append(s.groups, parsed.host)
			continue
		}
		parsed.explicit = parsed.explicit || portSet
		s.endpoints = append(s.endpoints, parsed)
	}
	if len(s.endpoints) == 0 { // groups alone
		s.endpoints = []endpoint{{host: netip.IPv4Unspecified(), port: port, explicit: portSet}}
	}
	if err := s.resolveBeacons(c, env); err != nil {
		return nil, err
	}
	for _, text := range c.Ignore {
		addr, err := parseIPv4(text)
		if err != nil {
			return nil, fmt.Errorf("frontends.ca.ignore: %w", err)
		}
		s.ignore[addr] = true
	}
	if len(c.Ignore) == 0 {
		for _, at := range env.addresses(0, "EPICS_CAS_IGNORE_ADDR_LIST") {
			s.ignore[at.Addr()] = true
		}
	}
	return s, env.err
}

func (s *settings) resolveBeacons(c Config, env *environment) error {
	s.autoBeacons = len(c.Beacons) == 0 && env.yes(true, "EPICS_CAS_AUTO_BEACON_ADDR_LIST")
	for _, text := range c.Beacons {
		at, err := addressOf(env.ctx, text, s.beaconPort)
		if err != nil {
			return fmt.Errorf("frontends.ca.beacons: %w", err)
		}
		s.beacons = append(s.beacons, at)
	}
	if len(c.Beacons) == 0 {
		s.beacons = env.addresses(s.beaconPort, "EPICS_CAS_BEACON_ADDR_LIST")
	}
	return nil
}

func (e *environment) period(names ...string) time.Duration {
	value, name := e.text(names...)
	if value == "" {
		return defaultBeaconPeriod
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || !(seconds > 0 && seconds <= 86400) {
		e.bad(name, value, "seconds")
		return defaultBeaconPeriod
	}
	return max(time.Duration(seconds*float64(time.Second)), firstBeacon)
}

func (e *environment) maxArrayBytes(configured int) int {
	const name = "EPICS_CA_MAX_ARRAY_BYTES"
	value, _ := e.text(name)
	switch {
	case configured > 0:
		return configured
	case value == "":
		return defaultMaxArrayBytes
	}
	n, err := strconv.Atoi(value)
	if err != nil || n <= 0 || n > math.MaxInt32 {
		e.bad(name, value, "a number of bytes")
		return defaultMaxArrayBytes
	}
	return max(n, 16384) // as base does
}
