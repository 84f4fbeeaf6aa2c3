//go:build !linux

package api

import "net"

// setUserTimeout does nothing where the system has no such limit; keep-alive
// probes and write deadlines end dead connections there.
func setUserTimeout(net.Conn) {}
