package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func TestASimulatedInstrumentAnswersAtATCPAddressAndSaysWhoTalks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{"instrument", "--listen", "127.0.0.1:0"}, write, &bytes.Buffer{})
		_ = write.Close()
	}()
	said := bufio.NewScanner(read)
	line := func() string {
		t.Helper()
		if !said.Scan() {
			t.Fatalf("it says no more: %v", said.Err())
		}
		return said.Text()
	}
	first := line()
	address := first[strings.LastIndex(first, " ")+1:]
	clients := map[string]net.Conn{}
	for _, name := range []string{"a", "b"} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		clients[name] = conn
	}
	// Two in a row of one are one line.
	var want, got []string
	for _, talk := range []struct {
		who string
		new bool
	}{{"a", true}, {"a", false}, {"b", true}, {"a", true}} {
		conn := clients[talk.who]
		if _, err := io.WriteString(conn, "ID?\r\n"); err != nil {
			t.Fatal(err)
		}
		if talk.new {
			want, got = append(want, conn.LocalAddr().String()+" talks"), append(got, line())
		}
		if reply, err := bufio.NewReader(conn).ReadString('\n'); err != nil || strings.TrimSpace(reply) == "" {
			t.Fatalf("reply: %q %v", reply, err)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	cancel()
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestAnInstrumentNeedsAnAddress(t *testing.T) {
	var errs bytes.Buffer
	if code := execute(t.Context(), []string{"instrument", "--listen", "nowhere"}, io.Discard, &errs); code != exitUsage {
		t.Errorf("exit code %d: %s", code, &errs)
	}
}
