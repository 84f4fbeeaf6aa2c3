package ca

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/polygate/gateway/ca/cawire"
)

// Config is the section "frontends.ca" of the configuration file. Where it is
// silent the variables EPICS_CAS_... of the environment count, as for an IOC; an
// empty one counts as not set.
type Config struct {
	Listen Endpoints `yaml:"listen,omitempty" jsonschema:"description=local; or a host with or without a port; or a list of {address\\, advertise}"`
	// Beacons are where beacons go to, host or host:port.
	Beacons []string `yaml:"beacons,omitempty" jsonschema:"description=Where beacons are sent to: host or host:port"`
	// Ignore are hosts whose searches are not answered.
	Ignore        []string `yaml:"ignore,omitempty" jsonschema:"description=IP addresses whose searches are not answered"`
	MaxArrayBytes int      `yaml:"max_array_bytes,omitempty" jsonschema:"description=Largest array that a client may write in bytes"`
	Circuits      int      `yaml:"circuits,omitempty" jsonschema:"description=Most connections at a time"`
}

// DefaultConfig serves this host only, unless the environment says otherwise.
func DefaultConfig() Config {
	return Config{Circuits: 4096}
}

// An Endpoint is one address to listen on.
type Endpoint struct {
	// Address is "local", which answers this host alone; or an IPv4 address of
	// this host, 0.0.0.0 for all of them, with ":port" or without; or a multicast
	// group, in which clients search on the port of the other addresses.
	Address string `yaml:"address" jsonschema:"required"`
	// Advertise is what replies to searches by datagram name in place of the
	// address that they come from: what clients see from outside of a container.
	Advertise string `yaml:"advertise,omitempty"`
}

// Endpoints are the addresses to listen on.
type Endpoints []Endpoint

// UnmarshalYAML takes an address, or a list of addresses and mappings.
func (e *Endpoints) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		var one Endpoint
		if err := one.UnmarshalYAML(n); err != nil {
			return err
		}
		*e = Endpoints{one}
		return nil
	}
	list := make(Endpoints, len(n.Content))
	for i, item := range n.Content {
		if err := list[i].UnmarshalYAML(item); err != nil {
			return err
		}
	}
	*e = list
	return nil
}

// UnmarshalYAML takes an address, or a mapping with address and advertise.
func (e *Endpoint) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		e.Address = n.Value
	} else {
		type plain Endpoint
		if err := n.Load((*plain)(e), yaml.WithKnownFields()); err != nil {
			return err
		}
	}
	_, err := e.parse(cawire.DefaultServerPort)
	return err
}

// local is the address that stands for this host alone.
const local = "local"

// An endpoint is an Endpoint that has been understood.
type endpoint struct {
	host      netip.Addr // 127.0.0.1 if local
	port      uint16
	local     bool
	explicit  bool           // the port was given
	advertise netip.AddrPort // zero if it says nothing; port 0 is that of the circuits
}

func (e Endpoint) parse(defaultPort uint16) (endpoint, error) {
	host, port, err := splitHostPort(e.Address, defaultPort)
	if err != nil {
		return endpoint{}, err
	}
	_, text, _ := strings.Cut(e.Address, ":")
	parsed := endpoint{port: port, explicit: text != ""}
	switch {
	case host == local:
		parsed.local, parsed.host = true, netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case host == "localhost":
		parsed.host = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	default:
		if parsed.host, err = parseIPv4(host); err != nil {
			return endpoint{}, err
		}
	}
	if parsed.host.IsMulticast() && (text != "" || e.Advertise != "") {
		return endpoint{}, fmt.Errorf("%s is a multicast group: it has no port of its own and advertises nothing", host)
	}
	if e.Advertise == "" {
		return parsed, nil
	}
	host, port, err = splitHostPort(e.Advertise, 0)
	if err != nil {
		return endpoint{}, fmt.Errorf("advertise: %w", err)
	}
	addr, err := parseIPv4(host)
	if err != nil {
		return endpoint{}, fmt.Errorf("advertise: %w", err)
	}
	parsed.advertise = netip.AddrPortFrom(addr, port)
	return parsed, nil
}

// splitHostPort takes host and host:port. Hosts of this protocol are IPv4, so
// there is at most one colon.
func splitHostPort(s string, defaultPort uint16) (string, uint16, error) {
	host, text, has := strings.Cut(s, ":")
	switch {
	case !has:
		return host, defaultPort, nil
	case strings.Contains(text, ":"):
		_, err := parseIPv4(s)
		return s, defaultPort, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q: want host:port with a port from 0 to 65535", s)
	}
	return host, uint16(port), nil
}

func parseIPv4(s string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(s)
	if err != nil || !addr.Unmap().Is4() {
		return netip.Addr{}, fmt.Errorf("%q is no IPv4 address, and Channel Access knows no others", s)
	}
	return addr.Unmap(), nil
}

// resolveIPv4 also takes names.
func resolveIPv4(ctx context.Context, s string) (netip.Addr, error) {
	if addr, err := parseIPv4(s); err == nil {
		return addr, nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", s)
	if err != nil || len(found) == 0 {
		return netip.Addr{}, fmt.Errorf("%s has no IPv4 address: %w", s, err)
	}
	return found[0].Unmap(), nil
}
