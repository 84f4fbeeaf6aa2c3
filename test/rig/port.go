//go:build unix

package rig

import (
	"net"
	"testing"
)

// FreePort returns an address of this host on which nobody listens now. Others
// can take it before it is used; a program that then cannot start says so.
func FreePort(t testing.TB) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
