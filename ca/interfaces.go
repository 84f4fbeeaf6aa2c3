package ca

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// prefixes returns the IPv4 addresses of this host's interfaces that are up, with
// their networks.
func prefixes(wanted func(net.Flags) bool) []netip.Prefix {
	var list []netip.Prefix
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || !wanted(i.Flags) {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Unmap().Is4() {
				list = append(list, netip.PrefixFrom(p.Addr().Unmap(), p.Bits()))
			}
		}
	}
	return list
}

// multicastInterfaces returns the interface that has an address, or for 0.0.0.0
// all that can multicast.
func multicastInterfaces(host netip.Addr) []net.Interface {
	all, err := net.Interfaces()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(i net.Interface) bool {
		if i.Flags&net.FlagUp == 0 {
			return true
		}
		if host.IsUnspecified() {
			return i.Flags&net.FlagMulticast == 0
		}
		addresses, err := i.Addrs()
		return err != nil || !slices.ContainsFunc(addresses, func(a net.Addr) bool {
			p, err := netip.ParsePrefix(a.String())
			return err == nil && p.Addr().Unmap() == host
		})
	})
}

// broadcastOf returns the broadcast address of the interface that has an address.
func broadcastOf(host netip.Addr) (netip.Addr, bool) {
	for _, p := range prefixes(func(net.Flags) bool { return true }) {
		if p.Addr() == host && p.Bits() < 31 {
			return lastOf(p), true
		}
	}
	return netip.Addr{}, false
}

// broadcasts returns those of all interfaces that can broadcast.
func broadcasts() []netip.Addr {
	var list []netip.Addr
	for _, p := range prefixes(func(f net.Flags) bool { return f&net.FlagBroadcast != 0 && f&net.FlagLoopback == 0 }) {
		if p.Bits() < 31 {
			list = append(list, lastOf(p))
		}
	}
	return list
}

// lastOf returns the last address of a network.
func lastOf(p netip.Prefix) netip.Addr {
	a := p.Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		a[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.AddrFrom4(a)
}

// ownAddresses knows which addresses are this host's own. Interfaces come and
// go, so an unknown address makes it look again, but not for every datagram of a
// flood.
type ownAddresses struct {
	mu     sync.Mutex
	known  map[netip.Addr]bool
	looked time.Time
}

const lookAgain = time.Second

func (o *ownAddresses) has(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known[a] {
		return true
	}
	if now := time.Now(); now.Sub(o.looked) >= lookAgain {
		o.looked = now
		o.known = map[netip.Addr]bool{}
		for _, p := range prefixes(func(net.Flags) bool { return true }) {
			o.known[p.Addr()] = true
		}
	}
	return o.known[a]
}
