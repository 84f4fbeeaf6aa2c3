package main

import (
	"net"
	"strings"
	"testing"
)

func TestAnAddressIsWrittenAsOthersCanUseIt(t *testing.T) {
	if got := reachable(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}); got != "127.0.0.1:8080" {
		t.Errorf("loopback is written %s", got)
	}
	for _, ip := range []net.IP{net.IPv4zero, net.IPv6unspecified} {
		got := reachable(&net.TCPAddr{IP: ip, Port: 8080})
		if host, port, err := net.SplitHostPort(got); err != nil || port != "8080" || host == "" || strings.Contains(host, ip.String()) {
			t.Errorf("%v is written %s", ip, got)
		}
	}
}
