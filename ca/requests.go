package ca

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/polygate/gateway/ca/cawire"
)

// handle answers one request. An error ends the circuit. What is answered how,
// and what ends a circuit, follows epics-base's rsrv (camessage.c).
func (c *circuit) handle(f cawire.Frame) error {
	if f.Command == cawire.CmdVersion {
		return c.version(f)
	}
	if !c.hello {
		c.sendError(f, cawire.ECADefunct, "no VERSION, or one that is too old")
		return nil
	}
	switch f.Command {
	case cawire.CmdEcho:
		return c.echo(f)
	case cawire.CmdReadNotify:
		return c.readNotify(f)
	case cawire.CmdWrite:
		return c.plainWrite(f)
	case cawire.CmdWriteNotify:
		return c.writeNotify(f)
	case cawire.CmdRead:
		return c.readOld(f)
	case cawire.CmdEventAdd:
		return c.subscribe(f)
	case cawire.CmdEventCancel:
		return c.unsubscribe(f)
	case cawire.CmdCreateChan:
		return c.create(f)
	case cawire.CmdClearChannel:
		return c.clear(f)
	case cawire.CmdSearch:
		return c.search(f)
	case cawire.CmdEventsOff:
		c.pause(true)
		return nil
	case cawire.CmdEventsOn:
		c.pause(false)
		return nil
	case cawire.CmdClientName:
		return c.clientName(f)
	case cawire.CmdHostName:
		return c.hostName(f)
	case cawire.CmdReadSync:
		c.send(&cawire.ReadSync{Type: f.Type, Count: f.Count, Param1: f.Param1, Param2: f.Param2})
		return nil
	}
	return c.refuse(f, cawire.ECAInternal, "unknown request")
}

func (c *circuit) version(f cawire.Frame) error {
	var m cawire.Version
	if err := m.Decode(f); err != nil {
		return c.refuse(f, cawire.ECAInternal, "broken VERSION")
	}
	if m.Minor < cawire.MinorOldest {
		return c.hangUp(f, fmt.Sprintf("client version %s is too old", m.Minor))
	}
	if m.Priority > cawire.MaxPriority {
		return c.hangUp(f, "no such priority")
	}
	c.minor = min(m.Minor, cawire.MinorCurrent)
	c.hello = true
	return nil
}

func (c *circuit) echo(f cawire.Frame) error {
	var m cawire.Echo
	_ = m.Decode(f)
	if err := c.out.add(&m, c.minor); err != nil {
		c.sendError(f, cawire.ECATooLarge, "echo is too long")
	}
	return nil
}

func (c *circuit) clientName(f cawire.Frame) error {
	var m cawire.ClientName
	return c.setName(f, m.Decode(f), m.Name, &c.user)
}

func (c *circuit) hostName(f cawire.Frame) error {
	var m cawire.HostName
	return c.setName(f, m.Decode(f), m.Name, &c.host)
}

func (c *circuit) setName(f cawire.Frame, err error, name []byte, into *string) error {
	if len(c.channels) > 0 {
		c.sendError(f, cawire.ECAInternal, "names are set before the first channel")
		return nil
	}
	if err != nil {
		return c.refuse(f, cawire.ECAInternal, "name is too long or not terminated")
	}
	*into = printable(string(name))
	c.session = nil
	return nil
}

// printable keeps names from a client fit for logs and messages.
func printable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s)
}

func (c *circuit) search(f cawire.Frame) error {
	var m cawire.SearchRequest
	if err := m.Decode(f); err != nil {
		return nil //nolint:nilerr // An empty name is nobody's.
	}
	if m.Minor < cawire.MinorOldest {
		return c.hangUp(f, "search of a client that is too old")
	}
	switch _, found := c.server.directory.find(string(m.Name)); {
	case found:
		delete(c.wanted, m.CID)
		c.found(m.CID)
	case m.Reply == cawire.DoReply:
		c.send(&cawire.NotFound{Reply: m.Reply, Minor: m.Minor, CID: m.CID})
	default:
		c.want(&m)
	}
	return nil
}

func (c *circuit) create(f cawire.Frame) error {
	var m cawire.CreateChanRequest
	if err := m.Decode(f); err != nil {
		return nil //nolint:nilerr // As base does.
	}
	if m.Minor < cawire.MinorOldest {
		return c.hangUp(f, "client is too old")
	}
	c.minor = min(m.Minor, cawire.MinorCurrent)
	target, found := c.server.directory.find(string(m.Name))
	if !found {
		c.send(&cawire.CreateChFail{CID: m.CID})
		return nil
	}
	if len(c.channels) >= maxChannels {
		c.sendError(f, cawire.ECAAllocMem, "too many channels on this circuit")
		c.send(&cawire.CreateChFail{CID: m.CID})
		return nil
	}
	c.begin()
	if old := c.gone[m.CID]; old != nil {
		delete(c.gone, m.CID)
		delete(c.channels, old.sid)
	}
	c.lastSID++
	for c.channels[c.lastSID] != nil {
		c.lastSID++
	}
	ch := &channel{target: target, cid: m.CID, sid: c.lastSID}
	c.channels[ch.sid] = ch
	c.sendRights(ch)
	c.send(&cawire.CreateChanReply{CID: ch.cid, SID: ch.sid, Type: ch.native(), Count: uint32(ch.count())})
	return nil
}

func (c *circuit) sendRights(ch *channel) {
	rights := cawire.MayRead
	if ch.writable() {
		rights |= cawire.MayWrite
	}
	c.send(&cawire.AccessRights{CID: ch.cid, Rights: rights})
}

func (c *circuit) clear(f cawire.Frame) error {
	var m cawire.ClearRequest
	_ = m.Decode(f)
	ch := c.channels[m.SID]
	if ch == nil {
		return c.badID(f)
	}
	c.forget(ch)
	c.send(&cawire.ClearReply{SID: m.SID, CID: m.CID})
	return nil
}

// forget frees a channel with its subscriptions.
func (c *circuit) forget(ch *channel) {
	for _, sub := range ch.subs {
		c.end(sub)
	}
	delete(c.channels, ch.sid)
	if c.gone[ch.cid] == ch {
		delete(c.gone, ch.cid)
	}
}

func (c *circuit) badID(f cawire.Frame) error {
	return c.refuse(f, cawire.ECAInternal, "no such channel id")
}

// isTooLongForClient tells whether a message needs a header that old clients do
// not know.
func isTooLongForClient(err error) bool { return errors.Is(err, cawire.ErrLongHeader) }
