package ca

import (
	"net/netip"

	"github.com/polygate/gateway/ca/cawire"
)

// answerSearches answers the datagrams of one socket until it is closed. Replies
// go out by the first socket of the endpoint, whose address clients can use.
func (s *Server) answerSearches(l *listener, socket int) error {
	in, out := l.udp[socket], l.udp[0]
	buf := make([]byte, 64<<10)
	answer := searchAnswer{server: s, listener: l}
	var own ownAddresses
	failing := false
	for {
		n, from, err := in.ReadFromUDPAddrPort(buf)
		if l.closed.Load() {
			return nil
		}
		if err != nil {
			// An earlier reply that could not be delivered, on some systems.
			if !failing {
				s.log.Warn().Err(err).Msg("receiving searches")
			}
			failing = true
			continue
		}
		failing = false
		source := from.Addr().Unmap()
		if s.settings.ignore[source] || l.endpoint.local && !own.has(source) {
			continue
		}
		answer.all(buf[:n], func(reply []byte) {
			// Whom it does not reach asks again.
			_, _ = out.WriteToUDPAddrPort(reply, from)
		})
	}
}

// A searchAnswer makes the replies to one datagram.
type searchAnswer struct {
	server   *Server
	listener *listener
	version  cawire.DatagramVersion
	reply    []byte
	empty    int // the length of a reply that answers nothing
}

// all answers every search of a datagram, with as many replies as it takes.
// Names that are not ours are not answered at all.
func (a *searchAnswer) all(datagram []byte, send func([]byte)) {
	state := cawire.DatagramStart
	for len(datagram) > 0 {
		frame, n, err := cawire.NextDatagram(datagram)
		if err != nil {
			break
		}
		datagram = datagram[n:]
		kind, err := cawire.KindOf(frame, cawire.Client, cawire.OnDatagram)
		if err != nil {
			break
		}
		next, ok := state.Next(cawire.Server, cawire.Client, kind)
		if !ok {
			break
		}
		state = next
		switch kind {
		case cawire.KindDatagramVersion:
			if a.version.Decode(frame) != nil || a.version.Minor < cawire.MinorOldest {
				a.flush(send)
				return
			}
			a.flush(send)
			a.begin()
		case cawire.KindSearchRequest:
			a.search(frame, send)
		}
	}
	a.flush(send)
}

// begin starts a reply with the version, which repeats the client's sequence number.
func (a *searchAnswer) begin() {
	a.reply = a.reply[:0]
	if a.version.Minor.SearchSequence() {
		version := cawire.DatagramVersion{Minor: cawire.MinorCurrent, HasSequence: a.version.HasSequence, Sequence: a.version.Sequence}
		a.reply, _ = version.Append(a.reply, a.version.Minor)
	}
	a.empty = len(a.reply)
}

func (a *searchAnswer) flush(send func([]byte)) {
	if len(a.reply) > a.empty {
		send(a.reply)
	}
	a.reply, a.empty = a.reply[:0], 0
}

func (a *searchAnswer) search(frame cawire.Frame, send func([]byte)) {
	s := a.server
	s.searches.Add(1)
	var m cawire.SearchRequest
	if m.Decode(frame) != nil || m.Minor < cawire.MinorOldest {
		return
	}
	if !s.directory.has(m.Name) {
		return
	}
	s.found.Add(1)
	found := cawire.SearchReply{Port: a.listener.port(), CID: m.CID, HasMinor: true, Minor: cawire.MinorCurrent}
	switch e := &a.listener.endpoint; {
	case e.advertise.IsValid():
		found.Address = e.advertise.Addr()
		if e.advertise.Port() != 0 {
			found.Port = e.advertise.Port()
		}
	case e.local:
		found.Address = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	before := len(a.reply)
	a.reply, _ = found.Append(a.reply, a.version.Minor)
	if len(a.reply) > cawire.MaxDatagram {
		overflow := append([]byte(nil), a.reply[before:]...)
		a.reply = a.reply[:before]
		a.flush(send)
		a.begin()
		a.reply = append(a.reply, overflow...)
	}
}
