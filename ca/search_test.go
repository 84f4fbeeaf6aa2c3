package ca

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
)

// searchFor makes a datagram with searches, the ids counted from 0.
func searchFor(names ...string) []byte {
	version := cawire.DatagramVersion{Minor: 13, HasSequence: true, Sequence: 77}
	out, _ := version.Append(nil, 13)
	for i, name := range names {
		m := cawire.SearchRequest{Reply: cawire.DoReply, Minor: 13, CID: uint32(i), Name: []byte(name)}
		out, _ = m.Append(out, 13)
	}
	return out
}

// A searcher is a client's socket for searches.
type searcher struct {
	t    *testing.T
	conn *net.UDPConn
}

func newSearcher(t *testing.T) *searcher {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &searcher{t, conn}
}

func (s *searcher) send(to string, datagram []byte) {
	s.t.Helper()
	at, err := netip.ParseAddrPort(to)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.conn.WriteToUDPAddrPort(datagram, at); err != nil {
		s.t.Fatal(err)
	}
}

// reply receives one datagram and checks its form.
func (s *searcher) reply() (version cawire.DatagramVersion, found []cawire.SearchReply, from netip.AddrPort) {
	s.t.Helper()
	_ = s.conn.SetReadDeadline(time.Now().Add(limit))
	buf := make([]byte, 64<<10)
	n, from, err := s.conn.ReadFromUDPAddrPort(buf)
	if err != nil {
		s.t.Fatal(err)
	}
	if n > cawire.MaxDatagram {
		s.t.Errorf("a reply of %d bytes", n)
	}
	for rest := buf[:n]; len(rest) > 0; {
		frame, used, err := cawire.NextDatagram(rest)
		if err != nil {
			s.t.Fatal(err)
		}
		rest = rest[used:]
		switch frame.Command {
		case cawire.CmdVersion:
			_ = version.Decode(frame)
		case cawire.CmdSearch:
			var m cawire.SearchReply
			if err := m.Decode(frame); err != nil {
				s.t.Fatal(err)
			}
			found = append(found, m)
		default:
			s.t.Errorf("a datagram with %v", frame.Command)
		}
	}
	return version, found, from
}

func (w *world) searchAddr() string { return w.server.SearchAddr().String() }

func TestCA29ManySearchesInOneDatagram(t *testing.T) {
	var names []string
	var list []*gateway.Descriptor
	for i := range 100 {
		list = append(list, float(fmt.Sprintf("v%d", i), r))
		names = append(names, fmt.Sprintf("X:V%d", i))
	}
	w := newWorld(t, list...)
	s := newSearcher(t)
	s.send(w.searchAddr(), searchFor(names...))
	seen := map[uint32]bool{}
	for len(seen) < len(names) {
		version, found, _ := s.reply()
		if !version.HasSequence || version.Sequence != 77 || version.Minor != 13 {
			t.Errorf("the reply begins with %+v", version)
		}
		for _, m := range found {
			seen[m.CID] = true
			if m.Port != uint16(w.server.Addr().(*net.TCPAddr).Port) || m.Address.IsValid() || m.Minor != 13 {
				t.Errorf("got %+v", m)
			}
		}
	}
}

func TestCA24NotFoundIsSaidOnCircuitsAlone(t *testing.T) {
	w := newWorld(t, float("level", r))
	s := newSearcher(t)
	s.send(w.searchAddr(), searchFor("X:Nope", "", "X:Level"))
	if _, found, _ := s.reply(); len(found) != 1 || found[0].CID != 2 {
		t.Errorf("got %+v", found)
	}
	// Without a version before it, a search is ignored.
	s.send(w.searchAddr(), searchFor("X:Level")[16:])
	s.send(w.searchAddr(), searchFor("X:Nope", "X:Nope", "X:Nope", "X:Level"))
	if _, found, _ := s.reply(); len(found) != 1 || found[0].CID != 3 {
		t.Errorf("got %+v", found)
	}

	c := w.dial()
	c.mustSend(
		&cawire.SearchRequest{Reply: cawire.DontReply, Minor: 13, CID: 1, Name: []byte("X:Nope")},
		&cawire.SearchRequest{Reply: cawire.DoReply, Minor: 13, CID: 2, Name: []byte("X:Nope")},
		&cawire.SearchRequest{Reply: cawire.DontReply, Minor: 13, CID: 3, Name: []byte("X:Level")},
	)
	if m := until[*cawire.NotFound](c, nil); m.CID != 2 {
		t.Errorf("got %+v", m)
	}
	if m := until[*cawire.SearchReply](c, nil); m.CID != 3 || m.HasMinor || m.Address.IsValid() || m.Port != uint16(w.server.Addr().(*net.TCPAddr).Port) {
		t.Errorf("got %+v", m)
	}
}

// Nobody sends beacons through a name server.
func TestANameThatIsFoundLaterIsToldToThoseWhoSearchedOnACircuit(t *testing.T) {
	w := newWorld(t, float("level", r))
	c := w.dial()
	c.mustSend(
		&cawire.SearchRequest{Reply: cawire.DontReply, Minor: 13, CID: 1, Name: []byte("X:Later")},
		&cawire.SearchRequest{Reply: cawire.DontReply, Minor: 13, CID: 2, Name: []byte("X:Never")},
		&cawire.SearchRequest{Reply: cawire.DoReply, Minor: 13, CID: 3, Name: []byte("X:Later")},
	)
	if m := until[*cawire.NotFound](c, nil); m.CID != 3 {
		t.Errorf("got %+v", m)
	}
	w.device.Redescribe(float("level", r), float("later", r))
	port := uint16(w.server.Addr().(*net.TCPAddr).Port)
	if m := until[*cawire.SearchReply](c, nil); m.CID != 1 || m.Port != port || m.Address.IsValid() {
		t.Errorf("got %+v", m)
	}
	// It is told once: the next answer is to the next question.
	w.device.Redescribe(float("level", r), float("later", r), float("more", r))
	w.Settle()
	c.mustSend(&cawire.SearchRequest{Reply: cawire.DontReply, Minor: 13, CID: 4, Name: []byte("X:Level")})
	if m := until[*cawire.SearchReply](c, nil); m.CID != 4 {
		t.Errorf("got %+v", m)
	}
}

func TestWhatAClientSearchesForInVainIsBounded(t *testing.T) {
	w := newWorld(t, float("level", r))
	c := w.dial()
	c.mustSend(&cawire.SearchRequest{Reply: cawire.DontReply, Minor: 13, CID: 1 << 21, Name: bytes.Repeat([]byte("X"), 10_000)})
	for i := range uint32(2 * maxWanted) {
		c.mustSend(&cawire.SearchRequest{Reply: cawire.DontReply, Minor: 13, CID: i, Name: fmt.Appendf(nil, "X:N%d", i)})
	}
	c.mustSend(&cawire.SearchRequest{Reply: cawire.DontReply, Minor: 13, CID: 1 << 20, Name: []byte("X:Level")})
	until[*cawire.SearchReply](c, nil)
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	for k := range w.server.circuits {
		k.mu.Lock()
		if n := len(k.wanted); n != maxWanted {
			t.Errorf("%d names are kept", n)
		}
		if name, ok := k.wanted[1<<21]; ok {
			t.Errorf("a name of %d bytes is kept", len(name))
		}
		k.mu.Unlock()
	}
}

func TestCA24AnAdvertisedAddressIsToldByDatagram(t *testing.T) {
	for advertise, port := range map[string]uint16{"192.0.2.1:6000": 6000, "192.0.2.1": 0} {
		w := newWorldWith(t, Config{Listen: Endpoints{{Address: "127.0.0.1:0", Advertise: advertise}}}, float("level", r))
		s := newSearcher(t)
		s.send(w.searchAddr(), searchFor("X:Level"))
		if port == 0 {
			port = uint16(w.server.Addr().(*net.TCPAddr).Port)
		}
		if _, found, _ := s.reply(); len(found) != 1 || found[0].Address.String() != "192.0.2.1" || found[0].Port != port {
			t.Errorf("advertising %s: got %+v", advertise, found)
		}
	}
}

func TestCA26OnlyTheInterfaceIsServed(t *testing.T) {
	w := newWorld(t, float("level", r))
	port := w.server.SearchAddr().(*net.UDPAddr).Port
	s := newSearcher(t)
	s.send(fmt.Sprintf("127.0.0.2:%d", port), searchFor("X:Level")) // another address
	s.send(w.searchAddr(), searchFor("X:Level"))
	if _, _, from := s.reply(); from.String() != w.searchAddr() {
		t.Errorf("the reply came from %v, not from %s", from, w.searchAddr())
	}
	if !bindBroadcast {
		return
	}
	s.send(fmt.Sprintf("127.255.255.255:%d", port), searchFor("X:Level"))
	if _, found, from := s.reply(); len(found) != 1 || from.String() != w.searchAddr() {
		t.Errorf("a broadcast: %+v from %v", found, from)
	}
}

func TestLocalAnswersThisHostWithItsLoopback(t *testing.T) {
	t.Setenv("EPICS_CAS_SERVER_PORT", freePort(t))
	w := newWorldWith(t, Config{Listen: Endpoints{{Address: local}}}, float("level", r))
	port := w.server.SearchAddr().(*net.UDPAddr).Port
	s := newSearcher(t)
	s.send(fmt.Sprintf("127.0.0.1:%d", port), searchFor("X:Level"))
	if _, found, _ := s.reply(); len(found) != 1 || found[0].Address.String() != "127.0.0.1" {
		t.Errorf("got %+v", found)
	}
	var own ownAddresses
	if !own.has(netip.MustParseAddr("127.0.0.53")) || own.has(netip.MustParseAddr("192.0.2.7")) {
		t.Error("own addresses are not told from others")
	}
}

func TestIgnoredHostsGetNoAnswer(t *testing.T) {
	w := newWorldWith(t, Config{Ignore: []string{"127.0.0.9"}}, float("level", r))
	s := newSearcher(t)
	other, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 9)})
	if err != nil {
		if os.Getenv("POLYGATE_REQUIRE") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	defer other.Close()
	if _, err := other.WriteToUDP(searchFor("X:Level"), w.server.SearchAddr().(*net.UDPAddr)); err != nil {
		t.Fatal(err)
	}
	s.send(w.searchAddr(), searchFor("X:Level"))
	s.reply()
	_ = other.SetReadDeadline(time.Unix(1, 0))
	if n, err := other.Read(make([]byte, 100)); err == nil {
		t.Errorf("an ignored host got %d bytes", n)
	}
}

func TestCA46UnknownNamesAreNotKept(t *testing.T) {
	w := newWorld(t, float("level", r))
	answer := searchAnswer{server: w.server, listener: w.server.listeners[0]}
	datagram := searchFor("X:Nope", "X:Nope.VAL", "Y", "X:Level")
	n := 0
	send := func([]byte) { n++ }
	known := w.server.directory.count()
	if allocated := testing.AllocsPerRun(1000, func() { answer.all(datagram, send) }); allocated > 6 {
		t.Errorf("a datagram costs %v allocations", allocated)
	}
	if n == 0 || w.server.directory.count() != known {
		t.Errorf("%d replies, %d names", n, w.server.directory.count())
	}
}

func TestCA27BeaconsStartFastAndCountUp(t *testing.T) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	w := newWorldWith(t, Config{Beacons: []string{conn.LocalAddr().String()}}, float("level", r))
	buf := make([]byte, 100)
	_ = conn.SetReadDeadline(time.Now().Add(limit))
	for want := range uint32(4) {
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		frame, _, err := cawire.NextDatagram(buf[:n])
		if err != nil {
			t.Fatal(err)
		}
		var m cawire.Beacon
		if err := m.Decode(frame); err != nil || m.ID != want || m.Port != uint16(w.server.Addr().(*net.TCPAddr).Port) || m.Minor != 13 {
			t.Errorf("got %+v, %v", m, err)
		}
	}
}

func TestCA27AFailingBeaconIsSaidOnce(t *testing.T) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	good := netip.MustParseAddrPort("127.0.0.1:9")
	b := &beacons{log: zerolog.New(&log), conn: conn, to: []beaconTarget{{at: netip.AddrPortFrom(good.Addr(), 0)}}}
	for id := range uint32(3) {
		b.send(id)
	}
	b.to[0].at = good
	for id := range uint32(3) {
		b.send(id)
	}
	_ = conn.Close()
	if n := strings.Count(log.String(), "\n"); n != 2 {
		t.Errorf("the log has %d lines:\n%s", n, log.String())
	}
}

func TestTwoServersOnOneHost(t *testing.T) {
	port := freePort(t)
	cfg := Config{Listen: Endpoints{{Address: "127.0.0.1"}}}
	t.Setenv("EPICS_CAS_SERVER_PORT", port)
	first := New(cfg, nil, zerolog.Nop())
	if err := first.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer first.closeListeners()
	defer first.beacons.close()
	second := New(cfg, nil, zerolog.Nop())
	if err := second.Listen(t.Context()); err == nil || !strings.Contains(err.Error(), port) {
		t.Errorf("a port that was asked for and is taken: %v", err)
	}
	e := endpoint{host: netip.MustParseAddr("127.0.0.1"), port: first.listeners[0].port()}
	moved, err := listen(t.Context(), e, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer moved.close()
	if !moved.moved || moved.port() == e.port || moved.searchPort() != e.port {
		t.Errorf("the second server has TCP port %d and UDP port %d", moved.port(), moved.searchPort())
	}
}

func TestWEB19EnvironmentVariables(t *testing.T) {
	for _, x := range []struct {
		env  map[string]string
		err  string
		want func(*settings) bool
	}{
		{map[string]string{}, "", func(s *settings) bool {
			return len(s.endpoints) == 1 && s.endpoints[0].local && s.endpoints[0].port == 5064 && !s.endpoints[0].explicit &&
				s.beaconPort == 5065 && s.beaconPeriod == 15*time.Second && s.maxArrayBytes == defaultMaxArrayBytes
		}},
		{map[string]string{
			"EPICS_CA_MAX_ARRAY_BYTES": "", "EPICS_CAS_SERVER_PORT": " ", "EPICS_CAS_INTF_ADDR_LIST": "", "EPICS_CAS_BEACON_PERIOD": "",
		}, "", func(s *settings) bool { return s.endpoints[0].local && s.maxArrayBytes == defaultMaxArrayBytes }},
		{map[string]string{"EPICS_CA_SERVER_PORT": "6000", "EPICS_CAS_SERVER_PORT": "7000"}, "", func(s *settings) bool {
			return s.endpoints[0].port == 7000 && s.endpoints[0].explicit && s.endpoints[0].local
		}},
		{map[string]string{"EPICS_CAS_INTF_ADDR_LIST": "127.0.0.1 127.0.0.2"}, "", func(s *settings) bool {
			return len(s.endpoints) == 2 && s.endpoints[1].host.String() == "127.0.0.2" && s.endpoints[1].port == 5064 && !s.endpoints[1].explicit
		}},
		{map[string]string{"EPICS_CAS_INTF_ADDR_LIST": "127.0.0.1 239.1.2.3"}, "", func(s *settings) bool {
			return len(s.endpoints) == 1 && len(s.groups) == 1 && s.groups[0].String() == "239.1.2.3"
		}},
		{map[string]string{"EPICS_CAS_INTF_ADDR_LIST": "239.1.2.3"}, "", func(s *settings) bool {
			return len(s.endpoints) == 1 && s.endpoints[0].host.IsUnspecified() && s.endpoints[0].port == 5064 && len(s.groups) == 1
		}},
		{map[string]string{"EPICS_CAS_AUTO_BEACON_ADDR_LIST": "no", "EPICS_CAS_BEACON_ADDR_LIST": "127.0.0.1 127.0.0.2:7", "EPICS_CAS_BEACON_PORT": "8"}, "", func(s *settings) bool {
			return !s.autoBeacons && len(s.beacons) == 2 && s.beacons[0].Port() == 8 && s.beacons[1].Port() == 7
		}},
		{map[string]string{"EPICS_CAS_IGNORE_ADDR_LIST": "127.0.0.3", "EPICS_CA_MAX_ARRAY_BYTES": "100", "EPICS_CAS_BEACON_PERIOD": "2.5"}, "", func(s *settings) bool {
			return s.ignore[netip.MustParseAddr("127.0.0.3")] && s.maxArrayBytes == 16384 && s.beaconPeriod == 2500*time.Millisecond
		}},
		{map[string]string{"EPICS_CAS_SERVER_PORT": "many"}, "EPICS_CAS_SERVER_PORT", nil},
		{map[string]string{"EPICS_CA_MAX_ARRAY_BYTES": "16k"}, "EPICS_CA_MAX_ARRAY_BYTES", nil},
		{map[string]string{"EPICS_CAS_AUTO_BEACON_ADDR_LIST": "maybe"}, "EPICS_CAS_AUTO_BEACON_ADDR_LIST", nil},
		{map[string]string{"EPICS_CAS_INTF_ADDR_LIST": "1.2.3"}, "EPICS_CAS_INTF_ADDR_LIST", nil},
		{map[string]string{"EPICS_CA_BEACON_PERIOD": "-1"}, "EPICS_CA_BEACON_PERIOD", nil},
	} {
		s, err := resolve(t.Context(), Config{}, func(name string) string { return x.env[name] })
		switch {
		case x.err != "" && (err == nil || !strings.Contains(err.Error(), x.err)):
			t.Errorf("%v: %v, want an error that names %s", x.env, err, x.err)
		case x.err == "" && (err != nil || !x.want(s)):
			t.Errorf("%v: %+v, %v", x.env, s, err)
		}
	}
	// What the file says counts more.
	s, err := resolve(t.Context(), Config{Listen: Endpoints{{Address: "127.0.0.1:0"}}, MaxArrayBytes: 99}, func(name string) string {
		return map[string]string{"EPICS_CAS_INTF_ADDR_LIST": "127.0.0.2", "EPICS_CA_MAX_ARRAY_BYTES": "100000"}[name]
	})
	if err != nil || s.endpoints[0].host.String() != "127.0.0.1" || s.maxArrayBytes != 99 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestAddressesThatMakeNoSense(t *testing.T) {
	for address, want := range map[string]string{
		"::1": "IPv4", "fe80::1": "IPv4", "nowhere": "IPv4", "127.0.0.1:99999": "port", "127.0.0.1:x": "port", "fe80": "IPv4",
		"239.1.2.3:5064": "multicast",
	} {
		if _, err := resolve(t.Context(), Config{Listen: Endpoints{{Address: address}}}, func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	for _, address := range []string{"local", "local:5070", "localhost", "0.0.0.0", "127.0.0.1", "127.0.0.1:0"} {
		if _, err := resolve(t.Context(), Config{Listen: Endpoints{{Address: address}}}, func(string) string { return "" }); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestCA56ClientsLearnOfAServerThatCameBackElsewhere(t *testing.T) {
	w := newWorld(t, float("level", r))
	c := w.dial()
	w.listen(c, "X:Level", cawire.DBRDouble, cawire.DBEValue)
	before := w.server.Addr().String()
	w.stop()
	c.wantClosed()
	taken, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", before)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	w.serve(Config{})
	s := newSearcher(t)
	s.send(w.searchAddr(), searchFor("X:Level"))
	_, found, _ := s.reply()
	again := dialTester(t, fmt.Sprintf("127.0.0.1:%d", found[0].Port), 13)
	if fmt.Sprintf("127.0.0.1:%d", found[0].Port) == before {
		t.Error("it is where it was")
	}
	w.listen(again, "X:Level", cawire.DBRDouble, cawire.DBEValue)
}
