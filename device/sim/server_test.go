package sim_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polygate/gateway/device/link/pty"
	"github.com/polygate/gateway/device/sim"
)

// serve lets a temperature controller answer on one end of a pipe, and
// returns the other.
func serve(t *testing.T, faults *sim.Faults) (conn net.Conn, ended <-chan error) {
	t.Helper()
	a, b := net.Pipe()
	server := &sim.Server{Instrument: sim.NewTemperatureController(1), Terminator: "\r\n", Now: time.Now, Faults: faults}
	done := make(chan error, 1)
	go func() { done <- server.Serve(t.Context(), a) }()
	if err := b.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b, done
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil {
		t.Fatalf("want %q: %v", want, err)
	}
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestServerAnswersLinesInPieces(t *testing.T) {
	conn, _ := serve(t, nil)
	write(t, conn, "S0")
	write(t, conn, "1?\r")
	write(t, conn, "\nE01?\r\nR")
	read(t, conn, "10\r\n50\r\n")
	write(t, conn, "?\r\n")
	read(t, conn, "1\r\n")
}

func TestFaults(t *testing.T) {
	tests := []struct {
		name  string
		fault sim.Fault
		want  string // of S01?, then E01?
	}{
		{"silent", sim.Fault{Kind: sim.Silent}, "50\r\n"},
		{"late", sim.Fault{Kind: sim.Late, Delay: time.Millisecond}, "10\r\n50\r\n"},
		{"held", sim.Fault{Kind: sim.Held}, "10\r\n50\r\n"},
		{"half", sim.Fault{Kind: sim.Half}, "150\r\n"},
		{"garbled", sim.Fault{Kind: sim.Garbled}, "\xb10\r\n50\r\n"},
		{"extra", sim.Fault{Kind: sim.Extra, Text: "#"}, "#\r\n10\r\n50\r\n"},
		{"echo", sim.Fault{Kind: sim.Echo}, "S01?\r\n10\r\n50\r\n"},
		{"for another request", sim.Fault{Kind: sim.Silent, Request: "X"}, "10\r\n50\r\n"},
		{"for all", sim.Fault{Kind: sim.Echo, Times: -1}, "S01?\r\n10\r\nE01?\r\n50\r\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var faults sim.Faults
			faults.Inject(test.fault)
			conn, _ := serve(t, &faults)
			write(t, conn, "S01?\r\nE01?\r\n")
			read(t, conn, test.want)
			faults.Clear()
			write(t, conn, "R?\r\n")
			read(t, conn, "1\r\n")
		})
	}
}

func TestUnplug(t *testing.T) {
	var faults sim.Faults
	faults.Inject(sim.Fault{Kind: sim.Unplug})
	conn, ended := serve(t, &faults)
	write(t, conn, "R?\r\n")
	if err := <-ended; !errors.Is(err, sim.ErrUnplugged) {
		t.Errorf("got %v, want ErrUnplugged", err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want the end of the line", err)
	}
}

func TestServePTYEndsWithItsContext(t *testing.T) {
	if pair, err := pty.Open(); err != nil {
		if os.Getenv("POLYGATE_REQUIRE") == "1" {
			t.Fatalf("no pseudo-terminals here: %v", err)
		}
		t.Skipf("no pseudo-terminals here: %v", err)
	} else if err := pair.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	server := &sim.Server{Instrument: sim.NewTemperatureController(1), Terminator: "\r\n", Now: time.Now}
	path := make(chan string, 1)
	ended := make(chan error, 1)
	go func() { ended <- server.ServePTY(ctx, func(p string) { path <- p }) }()
	port, err := os.OpenFile(<-path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	write(t, port, "ID?\r\n")
	read(t, port, sim.Identity+"\r\n")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_ = port.Close()
}

func TestServeTCPServesSeveralClients(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	server := &sim.Server{Instrument: sim.NewTemperatureController(1), Terminator: "\r\n", Now: time.Now}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTCP(ctx, listener) }()
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			conn, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			lines := bufio.NewReader(conn)
			for range 50 {
				if _, err := io.WriteString(conn, "E01?\r\n"); err != nil {
					t.Error(err)
					return
				}
				if got, err := lines.ReadString('\n'); err != nil || strings.TrimSpace(got) != "50" {
					t.Error(got, err)
					return
				}
			}
		})
	}
	clients.Wait()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
