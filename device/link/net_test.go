package link_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/polygate/gateway/device/link"
)

func TestTCPLineComesBack(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	address := server.Addr().String()
	l := link.NewLine("line", link.TCP{Address: address}, fastRetry())
	w := watch(l)
	serve(t, l)
	for range 3 {
		c, err := server.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if s := w.until(t, true); s.Words != "tcp "+address {
			t.Errorf("words %q", s.Words)
		}
		mustWrite(t, c, "hello\n")
		w.hear(t, "hello\n")
		go echo(c)
		if got, err := query(l, w.User, "x\n"); got != "x\n" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		c.Close()
		w.until(t, false)
	}
}

func TestSD02TCPOldBytesAreNotTheReply(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	l := link.NewLine("line", link.TCP{Address: server.Addr().String()})
	w := watch(l)
	serve(t, l)
	c, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w.until(t, true)
	for range 100 {
		mustWrite(t, c, "old\n")
		if err := l.Do(context.Background(), w.User, link.Poll, func(*link.Conn) error { return nil }); err != nil {
			t.Error(err)
		}
		w.hear(t, "old\n") // From the reader, or from the beginning of an exchange.
	}
}

func TestTCPRefused(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := server.Addr().String()
	server.Close()
	if _, err := (link.TCP{Address: address}).Open(context.Background()); err == nil {
		t.Error("opened without a server")
	}
}

func TestUDPLine(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 2048)
		for {
			n, from, err := server.ReadFrom(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if _, err := server.WriteTo(buf[:n], from); err != nil {
				return
			}
		}
	}()
	defer func() { server.Close(); <-done }()
	l := link.NewLine("line", link.UDP{Address: server.LocalAddr().String()})
	w := watch(l)
	serve(t, l)
	w.until(t, true)
	// One datagram, read in small pieces, is not cut off.
	var got []byte
	err = l.Do(context.Background(), w.User, link.Poll, func(c *link.Conn) error {
		if _, err := c.Write([]byte("0123456789\n")); err != nil {
			return err
		}
		for len(got) < 11 {
			piece := make([]byte, 4)
			n, _, err := c.Read(piece, soon())
			if err != nil {
				return err
			}
			got = append(got, piece[:n]...)
		}
		return nil
	})
	if string(got) != "0123456789\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestUDPWithoutAnybodyThereStaysOpen(t *testing.T) {
	nobody, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := nobody.LocalAddr().String()
	nobody.Close()
	l := link.NewLine("line", link.UDP{Address: address})
	w := watch(l)
	serve(t, l)
	w.until(t, true)
	for range 3 {
		err := l.Do(context.Background(), w.User, link.Poll, func(c *link.Conn) error {
			if _, err := c.Write([]byte("?")); err != nil {
				return err
			}
			_, _, err := c.Read(make([]byte, 1), shortly())
			return err
		})
		if !errors.Is(err, link.ErrTimeout) {
			t.Errorf("got %v", err)
		}
	}
	if !l.State().Connected {
		t.Error("the line was lost")
	}
}
