package faults_test

import (
	"testing"
)

// Clients that hold their connections do not hold up the end.
func TestTheGatewayStopsAlthoughClientsAreConnected(t *testing.T) {
	i, g := startOven(t)
	streams := []string{"oven.value", "oven.>", ">"}
	for _, match := range streams {
		g.Watch(match)
	}
	g.Get("oven.value")
	g.Stop()
	if n := i.connections(); n != 0 {
		t.Errorf("%d connections to the instrument are left", n)
	}
}
