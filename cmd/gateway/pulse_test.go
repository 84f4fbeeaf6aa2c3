package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"
)

// TestSD41PulseEndsAlthoughTheGatewayIsStopped has a client leave, and the
// gateway told to stop, between the two halves of a pulse: the second half is
// sent all the same, with nothing between.
func TestSD41PulseEndsAlthoughTheGatewayIsStopped(t *testing.T) {
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	begun, heard := make(chan struct{}), make(chan []string, 1)
	go func() {
		var all []string
		defer func() { heard <- all }()
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			switch all = append(all, lines.Text()); lines.Text() {
			case "P1":
				close(begun)
			case "V?":
				fmt.Fprint(conn, "1\n")
			}
		}
	}()
	p := start(t, local+`
links: {line1: {tcp: "`+listener.Addr().String()+`"}}
devices:
  dev:
    driver: serial
    link: line1
    terminator: "\n"
    attributes: {v: {kind: int32, read: "V?", reply: "%d", poll: 10ms}}
    commands: {pulse: {send: [{send: P1, wait: 500ms}, P0]}}
`)
	eventually(t, p.rest(t)+"/attributes/dev.v", func(r reading) bool { return plain(r.Value) == "1" })
	ctx, leave := context.WithTimeout(t.Context(), 20*time.Second)
	defer leave()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.rest(t)+"/commands/dev.pulse", nil)
	if err != nil {
		t.Fatal(err)
	}
	left := make(chan struct{})
	go func() {
		defer close(left)
		if response, err := http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
		}
	}()
	select {
	case <-begun:
	case <-ctx.Done():
		t.Fatal("the pulse does not begin")
	}
	leave()
	<-left
	p.end(t)
	all := <-heard
	i := slices.Index(all, "P1")
	if rest := all[i:]; len(rest) < 2 || rest[1] != "P0" {
		t.Errorf("behind the first half the instrument heard %q, want P0", rest[1:])
	}
}
