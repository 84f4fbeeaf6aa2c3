//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"net"
	"time"

	"github.com/polygate/gateway/ca/cawire"
)

// floorCA answers each search, each new channel, each read and each write of Channel
// Access with the same bytes, whatever it is for.
func floorCA(listener net.Listener) error {
	var config net.ListenConfig
	searches, err := config.ListenPacket(context.Background(), "udp4", listener.Addr().String())
	if err != nil {
		return err
	}
	value, err := cawire.AppendDBR(nil, cawire.DBRTimeDouble, 1,
		&cawire.Meta{Time: cawire.TimeStampOf(time.Now())}, &cawire.Values{Doubles: []float64{1}})
	if err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- floorSearches(searches, listener.Addr().(*net.TCPAddr).Port) }() //nolint:forcetypeassert // It is one.
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				failed <- err
				return
			}
			go floorCircuit(conn, value)
		}
	}()
	return <-failed
}

// caHeader appends a header.
func caHeader(to []byte, command cawire.Command, size, dataType, count int, p1, p2 uint32) []byte {
	for _, n := range []int{int(command), size, dataType, count} {
		to = binary.BigEndian.AppendUint16(to, uint16(n))
	}
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(to, p1), p2)
}

const caVersion = 13

func floorSearches(conn net.PacketConn, port int) error {
	in := make([]byte, 64<<10)
	for {
		n, from, err := conn.ReadFrom(in)
		if err != nil {
			return err
		}
		out := caHeader(nil, cawire.CmdVersion, 0, 0, caVersion, 0, 0)
		for rest := in[:n]; len(rest) >= cawire.ShortHeaderLen; {
			size := cawire.ShortHeaderLen + int(binary.BigEndian.Uint16(rest[2:]))
			if size > len(rest) {
				break
			}
			if cawire.Command(binary.BigEndian.Uint16(rest)) == cawire.CmdSearch {
				id := binary.BigEndian.Uint32(rest[12:])
				out = caHeader(out, cawire.CmdSearch, 8, port, 0, 0xffffffff, id)
				out = append(out, 0, caVersion, 0, 0, 0, 0, 0, 0)
			}
			rest = rest[size:]
		}
		if _, err := conn.WriteTo(out, from); err != nil {
			return err
		}
	}
}

// floorCircuit serves one client until it goes.
func floorCircuit(conn net.Conn, value []byte) {
	defer conn.Close()
	const ok = uint32(cawire.ECANormal)
	in, have := make([]byte, 64<<10), 0
	out := caHeader(nil, cawire.CmdVersion, 0, 0, caVersion, 0, 0)
	for {
		if len(out) > 0 {
			if _, err := conn.Write(out); err != nil {
				return
			}
		}
		n, err := conn.Read(in[have:])
		if err != nil {
			return
		}
		have += n
		out = out[:0]
		rest := in[:have]
		for len(rest) >= cawire.ShortHeaderLen {
			size := cawire.ShortHeaderLen + int(binary.BigEndian.Uint16(rest[2:]))
			if size > len(rest) {
				break
			}
			dataType, p1, p2 := int(binary.BigEndian.Uint16(rest[4:])), binary.BigEndian.Uint32(rest[8:]), binary.BigEndian.Uint32(rest[12:])
			switch cawire.Command(binary.BigEndian.Uint16(rest)) {
			case cawire.CmdCreateChan:
				out = caHeader(out, cawire.CmdAccessRights, 0, 0, 0, p1, 3)
				out = caHeader(out, cawire.CmdCreateChan, 0, int(cawire.DBRDouble), 1, p1, 1)
			case cawire.CmdReadNotify:
				out = caHeader(out, cawire.CmdReadNotify, len(value), dataType, 1, ok, p2)
				out = append(out, value...)
			case cawire.CmdWriteNotify:
				out = caHeader(out, cawire.CmdWriteNotify, 0, dataType, 1, ok, p2)
			case cawire.CmdEcho, cawire.CmdClearChannel:
				out = append(out, rest[:cawire.ShortHeaderLen]...)
			}
			rest = rest[size:]
		}
		have = copy(in, rest)
	}
}
