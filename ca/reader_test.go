//go:build unix

package ca

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// hurriedReader reads one end of a connection as if its client were in a hurry.
func hurriedReader(t *testing.T) (r *reader, client net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err = net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), ours.Close() })
	r = newReader(ours, new(atomic.Bool))
	r.hurried = true
	return r, client
}

func TestAReaderThatLooksReadsAsOneThatWaits(t *testing.T) {
	buf := make([]byte, 64)
	read := func(t *testing.T, r *reader, want string) {
		t.Helper()
		n, err := r.Read(buf)
		if err != nil || string(buf[:n]) != want {
			t.Fatalf("read %q, %v, want %q", buf[:n], err, want)
		}
	}
	send := func(t *testing.T, client net.Conn, text string) {
		t.Helper()
		if _, err := client.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("what is there", func(t *testing.T) {
		r, client := hurriedReader(t)
		for i := range 3 * maxInRow {
			send(t, client, "hello")
			r.hurried = true // else a busy machine may have made it give up
			read(t, r, "hello")
			if r.inRow > maxInRow {
				t.Fatalf("%d requests without a sleep after %d", r.inRow, i)
			}
		}
	})
	t.Run("what comes after it has given up", func(t *testing.T) {
		r, client := hurriedReader(t)
		time.AfterFunc(20*time.Millisecond, func() { _, _ = client.Write([]byte("late")) })
		read(t, r, "late")
		if r.hurried || r.inRow != 0 || r.looking.Load() {
			t.Errorf("still in a hurry: %v, %d in a row, looking %v", r.hurried, r.inRow, r.looking.Load())
		}
	})
	t.Run("while another looks", func(t *testing.T) {
		r, client := hurriedReader(t)
		r.looking.Store(true)
		send(t, client, "hello")
		read(t, r, "hello")
		if r.inRow != 0 || !r.looking.Load() {
			t.Errorf("%d in a row, the other one looks: %v", r.inRow, r.looking.Load())
		}
	})
	t.Run("the end", func(t *testing.T) {
		r, client := hurriedReader(t)
		_ = client.Close()
		if n, err := r.Read(buf); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("read %d bytes, %v, want the end", n, err)
		}
	})
	t.Run("closed here", func(t *testing.T) {
		r, _ := hurriedReader(t)
		_ = r.conn.Close()
		if n, err := r.Read(buf); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("read %d bytes, %v, want one that is closed", n, err)
		}
	})
	t.Run("no socket", func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		defer theirs.Close()
		r := newReader(ours, new(atomic.Bool))
		r.hurried = true
		go func() { _, _ = theirs.Write(bytes.Repeat([]byte("x"), 3)) }()
		read(t, r, "xxx")
	})
}
