//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/polygate/gateway/ca/cawire"
)

// A circuit is a client of Channel Access as lean as it can be, for measures that need
// many, or one that does not read.
type circuit struct {
	conn net.Conn
	in   []byte
}

func openCircuit(port int) (*circuit, error) {
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	c := &circuit{conn: conn}
	err = c.send(&cawire.Version{Minor: cawire.MinorCurrent}, &cawire.HostName{Name: []byte("bench")}, &cawire.ClientName{Name: []byte("bench")})
	return c, err
}

func (c *circuit) send(messages ...cawire.Message) error {
	var out []byte
	for _, m := range messages {
		var err error
		if out, err = m.Append(out, cawire.MinorCurrent); err != nil {
			return err
		}
	}
	_, err := c.conn.Write(out)
	return err
}

// subscribe opens channels and subscribes to their values. It reads no event.
func (c *circuit) subscribe(pvs ...string) error {
	creates, adds := make([]cawire.Message, len(pvs)), make([]cawire.Message, 0, len(pvs))
	for i, pv := range pvs {
		creates[i] = &cawire.CreateChanRequest{CID: uint32(i), Minor: cawire.MinorCurrent, Name: []byte(pv)}
	}
	if err := c.send(creates...); err != nil {
		return err
	}
	for len(adds) < len(pvs) {
		f, err := c.await(cawire.CmdCreateChan)
		if err != nil {
			return err
		}
		var reply cawire.CreateChanReply
		if err := reply.Decode(f); err != nil {
			return err
		}
		adds = append(adds, &cawire.EventAdd{Type: cawire.DBRTimeDouble, Count: 1, SID: reply.SID, SubscriptionID: reply.CID, Mask: 1})
	}
	return c.send(adds...)
}

func (c *circuit) awaitEvent() error {
	_, err := c.await(cawire.CmdEventAdd)
	return err
}

// await reads up to the next message of a kind.
func (c *circuit) await(command cawire.Command) (cawire.Frame, error) {
	for {
		f, n, err := cawire.Next(c.in, 1<<20)
		switch {
		case err == nil:
			c.in = c.in[n:]
			if f.Command == command {
				return f, nil
			}
			if f.Command == cawire.CmdError || f.Command == cawire.CmdCreateChFail {
				return f, fmt.Errorf("the server says %v", f.Command)
			}
		case errors.Is(err, cawire.ErrIncomplete):
			more := make([]byte, 64<<10)
			n, err := c.conn.Read(more)
			if err != nil {
				return f, err
			}
			c.in = append(c.in, more[:n]...)
		default:
			return f, err
		}
	}
}

func (c *circuit) close() { _ = c.conn.Close() }
