package ca

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
	"github.com/polygate/gateway/internal/frontendtest"
)

// conversation is one of everything that a client sends.
func conversation() []cawire.Message {
	value := encode(cawire.DBRDouble, 1, cawire.Values{Doubles: []float64{5}})
	return []cawire.Message{
		&cawire.Version{Minor: 13},
		&cawire.ClientName{Name: []byte("me")},
		&cawire.HostName{Name: []byte("here")},
		&cawire.SearchRequest{Reply: cawire.DoReply, Minor: 13, CID: 1, Name: []byte("RIG:Target")},
		&cawire.SearchRequest{Reply: cawire.DoReply, Minor: 13, CID: 2, Name: []byte("RIG:Nope")},
		&cawire.CreateChanRequest{CID: 1, Minor: 13, Name: []byte("RIG:Target")},
		&cawire.CreateChanRequest{CID: 2, Minor: 13, Name: []byte("RIG:Nope")},
		&cawire.ReadNotifyRequest{Type: cawire.DBRTimeDouble, SID: 1, IOID: 1},
		&cawire.ReadRequest{Type: cawire.DBRString, Count: 1, SID: 1, IOID: 2},
		&cawire.EventAdd{Type: cawire.DBRCtrlDouble, SID: 1, SubscriptionID: 1, Mask: everyMask},
		&cawire.EventsOff{},
		&cawire.WriteRequest{Type: cawire.DBRDouble, Count: 1, SID: 1, IOID: 1, Payload: value},
		&cawire.WriteNotifyRequest{Type: cawire.DBRDouble, Count: 1, SID: 1, IOID: 3, Payload: value},
		&cawire.EventsOn{},
		&cawire.Echo{},
		&cawire.ReadSync{},
		&cawire.EventCancel{Type: cawire.DBRCtrlDouble, SID: 1, SubscriptionID: 1},
		&cawire.ClearRequest{SID: 1, CID: 1},
	}
}

func bytesOfConversation(t testing.TB) (all []byte, ends []int) {
	t.Helper()
	for _, m := range conversation() {
		var err error
		if all, err = m.Append(all, 13); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, len(all))
	}
	return all, ends
}

// talk writes the conversation in two parts and reads up to the answer to its end.
func talk(t *testing.T, addr string, parts ...[]byte) map[string]int {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(limit))
	for _, part := range parts {
		if _, err := conn.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	var in []byte
	buf := make([]byte, 4096)
	counts := map[string]int{}
	for {
		frame, n, err := cawire.Next(in, 1<<20)
		if errors.Is(err, cawire.ErrIncomplete) {
			got, err := conn.Read(buf)
			if err != nil {
				t.Fatalf("%v, after %v", err, counts)
			}
			in = append(in, buf[:got]...)
			continue
		}
		in = in[n:]
		kind, _ := cawire.KindOf(frame, cawire.Server, cawire.OnCircuit)
		counts[kind.String()]++
		if kind == cawire.KindClearReply {
			return counts
		}
	}
}

func TestAConversationMayBeCutAnywhere(t *testing.T) {
	w := frontendtest.NewScripted(t)
	server, stop := serve(t, w.View, Config{})
	defer func() { _ = stop(t.Context()) }()
	all, _ := bytesOfConversation(t)
	want := talk(t, server.Addr().String(), all)
	for _, optional := range []string{"EVENT", "WRITE_NOTIFY reply"} { // may come after the end
		delete(want, optional)
	}
	if want["READ_NOTIFY reply"] != 1 || want["CREATE_CHAN reply"] != 1 || want["ERROR"] != 0 {
		t.Fatalf("the conversation went %v", want)
	}
	for cut := range all {
		got := talk(t, server.Addr().String(), all[:cut], all[cut:])
		for kind, n := range want {
			if got[kind] != n {
				t.Fatalf("cut at byte %d: %d of %s, want %d", cut, got[kind], kind, n)
			}
		}
	}
}

func TestAClientThatVanishesLeavesNothingBehind(t *testing.T) {
	w := frontendtest.NewScripted(t)
	server, stop := serve(t, w.View, Config{})
	all, ends := bytesOfConversation(t)
	var gone sync.WaitGroup
	for _, end := range append(ends, 0, 5, len(all)-3) {
		for _, reset := range []bool{false, true} {
			conn, err := net.Dial("tcp", server.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write(all[:end]); err != nil {
				t.Fatal(err)
			}
			if reset {
				_ = conn.(*net.TCPConn).SetLinger(0)
			}
			gone.Go(func() { _ = conn.Close() })
		}
	}
	gone.Wait()
	nothingLeft(t, server, w)
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// nothingLeft wants the server, which goes on, to notice by itself that all
// clients are gone.
func nothingLeft(t *testing.T, s *Server, w *frontendtest.World) {
	t.Helper()
	last := dialTester(t, s.Addr().String(), cawire.MinorCurrent)
	last.mustSend(&cawire.Echo{})
	until[*cawire.Echo](last, nil)
	_ = s.circuitStatus() // those before have been accepted by now
	last.close()
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(limit):
		t.Fatalf("circuits are left: %+v", s.circuitStatus())
	}
	if n := len(s.circuitStatus()); n != 0 {
		t.Errorf("%d circuits are left", n)
	}
	streams := 0
	for _, client := range w.Hub.Clients() {
		if client.Protocol == protocol {
			streams++
		}
	}
	if streams > 1 { // that of the directory stays
		t.Errorf("%d streams are left", streams-1)
	}
}

func TestPortScansAndOtherProtocols(t *testing.T) {
	w := newWorld(t, float("level", r))
	for _, text := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "SSH-2.0-OpenSSH\r\n", strings.Repeat("\xff", 5000), strings.Repeat("\x00", 5000),
	} {
		conn, err := net.Dial("tcp", w.server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(limit))
		_, _ = io.WriteString(conn, text)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	}
	w.dial().mustOpen("X:Level")
}

// FuzzRequests sends bytes to a circuit behind a correct introduction and an open
// channel. The server must neither panic nor hang.
func FuzzRequests(f *testing.F) {
	all, ends := bytesOfConversation(f)
	for i := 5; i < len(ends); i++ {
		f.Add(all[ends[i-1]:ends[i]])
	}
	f.Add(all[ends[5]:])
	w := frontendtest.NewScripted(f)
	s := New(Config{}, w.View, zerolog.Nop())
	var err error
	if s.settings, err = resolve(context.Background(), Config{MaxArrayBytes: 1 << 16}, func(string) string { return "" }); err != nil {
		f.Fatal(err)
	}
	s.listeners = []*listener{{}}
	s.beacons = &beacons{added: make(chan struct{}, 1)}
	done := make(chan error, 1)
	go func() { done <- s.directory.serve(s.ctx) }()
	<-s.directory.synced
	f.Cleanup(func() {
		s.stop()
		if err := <-done; err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		ours, theirs := net.Pipe()
		circuit := newCircuit(s, addressed{theirs})
		var served sync.WaitGroup
		served.Go(circuit.serve)
		served.Go(func() { _, _ = io.Copy(io.Discard, ours) })
		_ = ours.SetWriteDeadline(time.Now().Add(limit))
		_, err := ours.Write(append(append([]byte(nil), all[:ends[5]]...), data...))
		if errors.Is(err, errTimeout) {
			t.Error("the server does not read")
		}
		_ = ours.Close()
		served.Wait()
	})
}

var errTimeout = errors.New("timeout")

// addressed is a pipe with addresses as a TCP connection has them.
type addressed struct{ net.Conn }

func (addressed) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5064} }

func (addressed) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40000} }

// FuzzSearches feeds datagrams to the search.
func FuzzSearches(f *testing.F) {
	f.Add(searchFor("RIG:Level", "RIG:Level.DESC$", "x"))
	f.Add([]byte{})
	w := frontendtest.NewScripted(f)
	s := New(Config{}, w.View, zerolog.Nop())
	s.beacons = &beacons{added: make(chan struct{}, 1)}
	done := make(chan error, 1)
	go func() { done <- s.directory.serve(s.ctx) }()
	<-s.directory.synced
	f.Cleanup(func() {
		s.stop()
		if err := <-done; err != nil {
			f.Error(err)
		}
	})
	tcp, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = tcp.Close() })
	l := &listener{tcp: tcp}
	f.Fuzz(func(t *testing.T, data []byte) {
		answer := searchAnswer{server: s, listener: l}
		answer.all(data, func(reply []byte) {
			if len(reply) > cawire.MaxDatagram {
				t.Errorf("a reply of %d bytes", len(reply))
			}
		})
	})
}

func TestManyNamesAreAddedWhileClientsSearch(t *testing.T) {
	w := newWorld(t, float("v0", r))
	var list []*gateway.Descriptor
	for i := range 500 {
		list = append(list, float(fmt.Sprintf("v%d", i), r))
	}
	var clients sync.WaitGroup
	for range 4 {
		c := w.dial()
		clients.Go(func() {
			for range 200 {
				if _, err := c.open("X:V0"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 20 {
		w.device.Redescribe(list[:1+i*20]...)
	}
	clients.Wait()
	w.Settle()
}
