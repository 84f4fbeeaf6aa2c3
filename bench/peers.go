//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// A caServer is a server of Channel Access with a client of its own.
type caServer struct {
	*server
	client *caClient
	rest   string // where its REST interface is, if it has one
}

func (s *caServer) stop() {
	if s.client != nil {
		s.client.stop() // first: it complains of a server that goes
	}
	s.server.stop()
}

// startPeer starts a server on a port of its own, waits until it says that its start
// is complete, and starts a client.
func (e *epics) startPeer(port int, pv string, args ...string) (*caServer, error) {
	server, err := startServer([]string{fmt.Sprintf("EPICS_CAS_SERVER_PORT=%d", port), fmt.Sprintf("EPICS_CA_SERVER_PORT=%d", port)}, args...)
	if err != nil {
		return nil, err
	}
	for said := ""; !strings.Contains(said, "complete"); {
		line, err := server.logs.ReadString('\n')
		said += line
		if err != nil {
			server.stop()
			return nil, fmt.Errorf("%s ended before it served: %s", strings.Join(args, " "), said)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, server.logs) }()
	s := &caServer{server: server}
	if s.client, err = e.connect(port); err == nil {
		_, err = s.client.ask("open %s", pv)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return s, nil
}

// startIOC starts softIoc with records, of which pv is one.
func (b *bench) startIOC(pv, records string) (*caServer, error) {
	e, err := b.epics()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(b.dir, "*.db")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.WriteString(records); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	return e.startPeer(port, pv, e.softIoc, "-S", "-d", file.Name())
}

// softRecords are the records of a soft device.
func softRecords(count int) string {
	var records strings.Builder
	for i := range count {
		fmt.Fprintf(&records, "record(ao, \"SOFT:V%05d\") { field(PINI, YES) }\n", i)
	}
	return records.String()
}

// counterRecords are the records of a source of load, which are in alarm MINOR.
func counterRecords(count int) string {
	var records strings.Builder
	for i := range count {
		fmt.Fprintf(&records, "record(calc, \"TEST:CALC%05d\") { field(SCAN, \".1 second\") field(PINI, YES) field(CALC, \"VAL+1\") field(HIGH, 0) field(HSV, MINOR) }\n", i)
	}
	return records.String()
}

// startFastCS starts a FastCS server with REST and Channel Access in one process.
func (b *bench) startFastCS() (*caServer, error) {
	e, err := b.epics()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	rest, err := freePort()
	if err != nil {
		return nil, err
	}
	s, err := e.startPeer(port, peerPV, e.python, "bench/peers/fastcs_server.py", fmt.Sprint(rest))
	if err != nil {
		return nil, err
	}
	s.rest = fmt.Sprintf("http://127.0.0.1:%d/SOFT/value", rest)
	return s, nil
}

// startCaproto starts a caproto server.
func (b *bench) startCaproto() (*caServer, error) {
	e, err := b.epics()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	return e.startPeer(port, peerPV, e.python, "bench/peers/caproto_server.py")
}

// peerPV is the one process variable of the servers in Python.
const peerPV = "SOFT:Value"

// startCA starts a gateway with Channel Access and REST, and a client, and waits
// until there is a process variable.
func (b *bench) startCA(pv, devices string) (*caServer, error) {
	e, err := b.epics()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	gateway, err := startGateway(b.gateway, withCA(port)+devices)
	if err != nil {
		return nil, err
	}
	s := &caServer{server: gateway.server, rest: gateway.base}
	if s.client, err = e.connect(port); err == nil {
		_, err = s.client.ask("open %s", pv)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the gateway: %w", err)
	}
	return s, nil
}

// withCA is the start of a file with the frontends REST and Channel Access.
func withCA(port int) string {
	return fmt.Sprintf("frontends: {rest: {listen: \"127.0.0.1:0\"}, ca: {listen: \"127.0.0.1:%d\"}}\nops: {listen: \"\"}\n", port)
}

// startFloorCA starts the floor and a client.
func (b *bench) startFloorCA() (*caServer, error) {
	e, err := b.epics()
	if err != nil {
		return nil, err
	}
	floor, address, err := startFloor(channelAccess)
	if err != nil {
		return nil, err
	}
	s := &caServer{server: floor}
	var port int
	if _, err = fmt.Sscanf(address, "127.0.0.1:%d", &port); err == nil {
		if s.client, err = e.connect(port); err == nil {
			_, err = s.client.ask("open %s", softPV)
		}
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the floor of Channel Access: %w", err)
	}
	return s, nil
}
