package ca

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
	"github.com/polygate/gateway/internal/frontendtest"
)

// A twinPair is a frontend and an IOC with the same records.
type twinPair struct {
	server       *Server
	device       *hubtest.Device
	ioc          string   // its address
	ours, theirs []string // the environments for clients
}

// startTwins serves the attributes, and runs an IOC with the records.
func startTwins(t *testing.T, twins []twin) *twinPair {
	t.Helper()
	world := frontendtest.NewScripted(t)
	var list []*gateway.Descriptor
	var changes []hubtest.Change
	db := ""
	for _, x := range twins {
		list = append(list, &x.desc)
		db += x.records + "\n"
		if x.readback.Known() {
			changes = append(changes, hubtest.Change{Path: x.desc.Path, Role: gateway.Readback, Value: x.readback, Alarm: x.alarm})
		}
		if x.setpoint.Known() {
			changes = append(changes, hubtest.Change{Path: x.desc.Path, Role: gateway.Setpoint, Value: x.setpoint})
		}
	}
	device := hubtest.NewDevice(world.Line, "t", list...)
	device.Update(changes...)
	world.Settle()
	server, stop := serve(t, world.View, Config{})
	t.Cleanup(func() {
		if err := stop(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	<-server.directory.synced
	ioc := "127.0.0.1:" + startIOC(t, db)
	return &twinPair{
		server: server, device: device, ioc: ioc,
		ours:   clientEnv("EPICS_CA_ADDR_LIST=" + server.SearchAddr().String()),
		theirs: clientEnv("EPICS_CA_ADDR_LIST=" + ioc),
	}
}

// startIOC runs softIoc with records and returns its port.
func startIOC(t testing.TB, db string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "records.db")
	if err := os.WriteFile(file, []byte(db), 0o600); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	env := clientEnv("EPICS_CAS_INTF_ADDR_LIST=127.0.0.1", "EPICS_CAS_SERVER_PORT="+port)
	out := start(t, env, epicsTool(t, "softIoc"), "-S", "-d", file)
	out.until(t, func(s string) bool { return strings.Contains(s, "All initialization complete") })
	return port
}

// freePort finds a port that is free now, for a program that must be told one.
func freePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		tcp, err := net.Listen("tcp4", ":0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(tcp.Addr().String())
		udp, err := net.ListenPacket("udp4", ":"+port)
		_ = tcp.Close()
		if err == nil {
			_ = udp.Close()
			return port
		}
	}
	t.Fatal("no port is free for both TCP and UDP")
	return ""
}
