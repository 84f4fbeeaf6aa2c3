package link_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/device/link"
)

// pyserialTalk is what a server with the PortManager of pyserial 3.5 and this
// client said to each other, as recorded at the server: S from the server, C
// from the client. The baud rate was chosen for its byte FF.
const pyserialTalk = `
S fffb01 fffb03 fffd00 fffb2c
C fffb00 fffd00 fffb03 fffd03 fffb2c fffe01 fffd2c
S fffb00 fffd03 fffd2c fffa2c6b00fff0 fffa2c6b00fff0
C fffa2c010001c2fffffff0 fffa2c0207fff0 fffa2c0303fff0 fffa2c0402fff0 fffa2c0501fff0 fffa2c0508fff0 fffa2c050bfff0
S fffa2c650001c2fffffff0 fffa2c6607fff0 fffa2c6703fff0 fffa2c6802fff0 fffa2c6901fff0 fffa2c6908fff0 fffa2c690bfff0
`

// playTalk is a server that says, byte by byte, and expects the lines of talk.
func playTalk(c net.Conn, talk string) error {
	for row := range strings.SplitSeq(strings.TrimSpace(talk), "\n") {
		b, err := hex.DecodeString(strings.ReplaceAll(row[1:], " ", ""))
		if err != nil {
			return err
		}
		if row[0] == 'C' {
			got := make([]byte, len(b))
			if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, b) {
				return fmt.Errorf("the client said %x, want %x: %w", got, b, err)
			}
			continue
		}
		for i := range b {
			if _, err := c.Write(b[i : i+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// terminalServer serves one connection on the loopback.
func terminalServer(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		serve(c)
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func TestRFC2217WithPyserial(t *testing.T) {
	on := true
	address := terminalServer(t, func(c net.Conn) {
		if err := playTalk(c, pyserialTalk); err != nil {
			t.Error(err)
		}
		mustRead(t, c, "a\xff\xff\r")
		mustWrite(t, c, "\xff\xfd\x06b\xff\xffc\n")                                     // A question in between
		mustRead(t, c, "\xff\xfc\x06")                                                  // is answered.
		mustRead(t, c, "\xff\xfa\x2c\x05\x05\xff\xf0\xff\xfa\x2c\x05\x06\xff\xf0done")  // Break on, break off.
		mustWrite(t, c, "\xff\xfa\x2c\x69\x05\xff\xf0\xff\xfa\x2c\x69\x06\xff\xf0OK\n") // Confirmed.
		_, _ = io.Copy(io.Discard, c)                                                   // Until the client goes.
	})
	l := link.NewLine("line", link.RFC2217{Address: address, Settings: link.Serial{
		Baud: 115455, DataBits: 7, Parity: link.ParityEven, StopBits: 2, DTR: &on, RTS: &on,
	}})
	w := watch(l)
	serve(t, l)
	if s := w.until(t, true); s.Words != "rfc2217 "+address+" at 115455 7E2" {
		t.Errorf("words %q", s.Words)
	}
	if got, err := query(l, w.User, "a\xff\r"); got != "b\xffc\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	err := l.Do(context.Background(), w.User, link.Put, func(c *link.Conn) error { return c.Break(time.Millisecond) })
	if err != nil {
		t.Error(err)
	}
	if got, err := query(l, w.User, "done"); got != "OK\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestRFC2217Refusals(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, tc := range []struct{ name, talk, want string }{
		{"another baud rate", strings.Replace(pyserialTalk, "S fffa2c650001c2ffff", "S fffa2c6500002580", 1), "baud rate: asked for 115455, it says 9600"},
		{"another parity", strings.Replace(pyserialTalk, "fffa2c6703", "fffa2c6701", 1), "parity"},
		{"a short answer", "S fffd00 fffb00 fffd2c\nC fffb00 fffd00 fffb03 fffd03 fffb2c fffa\nS fffa2c6500fff0", "too short"},
		{"no binary mode", "S fffe00", "binary mode"},
		{"no such option", "S fffd00 fffb00 fffe2c", "RFC 2217"},
		{"nothing", "", "EOF"},
	} {
		on := true
		address := terminalServer(t, func(c net.Conn) {
			if tc.talk != "" {
				_ = playTalk(c, tc.talk)      // The client may go as soon as it knows enough.
				_, _ = io.Copy(io.Discard, c) // Until the client goes.
			}
		})
		_, err := link.RFC2217{Address: address, Settings: link.Serial{
			Baud: 115455, DataBits: 7, Parity: link.ParityEven, StopBits: 2, DTR: &on, RTS: &on,
		}}.Open(ctx)
		if err == nil || !strings.Contains(err.Error(), tc.want) && tc.want != "EOF" {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestRFC2217SilentServer(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	address := terminalServer(t, func(c net.Conn) {
		mustRead(t, c, "\xff\xfb\x00")
		cancel()
		_, _ = io.Copy(io.Discard, c) // Until the client goes.
	})
	_, err := link.RFC2217{Address: address}.Open(ctx)
	if err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("got %v", err)
	}
	if _, err := (link.RFC2217{Address: address, Settings: link.Serial{RS485: &link.RS485{}}}).Open(ctx); err == nil {
		t.Error("took RS-485")
	}
}
