package ca

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway/ca/cawire"
)

// The first beacons follow each other quickly (epics-base online_notify.c).
const firstBeacon = 20 * time.Millisecond

// calm is how long beacons are left alone after clients have been made to search
// anew, however many names are added.
const calm = 10 * time.Second

// Beacons tell clients that a server has started, so that they search for it. The
// interval doubles from firstBeacon up to the period; a sudden short interval makes
// clients search again, which is also how they learn of new names.
type beacons struct {
	log    zerolog.Logger
	conn   *net.UDPConn
	period time.Duration
	to     []beaconTarget
	added  chan struct{}
}

type beaconTarget struct {
	at      netip.AddrPort
	port    uint16 // of the circuits
	failing bool
}

func newBeacons(s *Server) (*beacons, error) {
	b := &beacons{log: s.log, period: s.settings.beaconPeriod, added: make(chan struct{}, 1)}
	for _, l := range s.listeners {
		for _, at := range beaconAddresses(s.settings, l.endpoint) {
			target := beaconTarget{at: at, port: l.port()}
			if !slices.Contains(b.to, target) {
				b.to = append(b.to, target)
			}
		}
	}
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return nil, fmt.Errorf("opening the socket for beacons: %w", err)
	}
	b.conn = conn
	return b, nil
}

// beaconAddresses returns where the beacons of an endpoint go.
func beaconAddresses(s *settings, e endpoint) []netip.AddrPort {
	if e.local || e.host.IsLoopback() && len(s.beacons) == 0 {
		if !s.autoBeacons {
			return loopbackOf(s.beacons)
		}
		return []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), s.beaconPort)}
	}
	list := slices.Clone(s.beacons)
	if !s.autoBeacons {
		return list
	}
	if e.host.IsUnspecified() {
		for _, a := range broadcasts() {
			list = append(list, netip.AddrPortFrom(a, s.beaconPort))
		}
	} else if a, ok := broadcastOf(e.host); ok {
		list = append(list, netip.AddrPortFrom(a, s.beaconPort))
	}
	if len(list) == 0 {
		list = append(list, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), s.beaconPort))
	}
	return list
}

// loopbackOf keeps those that do not leave this host.
func loopbackOf(all []netip.AddrPort) []netip.AddrPort {
	return slices.DeleteFunc(slices.Clone(all), func(at netip.AddrPort) bool { return !at.Addr().IsLoopback() })
}

// again makes clients search anew, soon.
func (b *beacons) again() {
	select {
	case b.added <- struct{}{}:
	default:
	}
}

func (b *beacons) close() { _ = b.conn.Close() }

// serve sends beacons until ctx ends.
func (b *beacons) serve(ctx context.Context) {
	delay, id := firstBeacon, uint32(0)
	started := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		added := b.added
		select {
		case <-ctx.Done():
			return
		case <-added:
			if time.Since(started) < calm {
				continue // clients have been told just now
			}
			delay, started = firstBeacon, time.Now()
			timer.Reset(0)
		case <-timer.C:
			b.send(id)
			id++
			timer.Reset(delay)
			delay = min(2*delay, b.period)
		}
	}
}

func (b *beacons) send(id uint32) {
	for i := range b.to {
		target := &b.to[i]
		beacon := cawire.Beacon{Minor: cawire.MinorCurrent, Port: target.port, ID: id}
		message, _ := beacon.Append(nil, cawire.MinorCurrent)
		_, err := b.conn.WriteToUDPAddrPort(message, target.at)
		switch {
		case err != nil && !target.failing:
			b.log.Warn().Err(err).Stringer("to", target.at).Msg("beacons cannot be sent")
		case err == nil && target.failing:
			b.log.Info().Stringer("to", target.at).Msg("beacons are sent again")
		}
		target.failing = err != nil
	}
}
