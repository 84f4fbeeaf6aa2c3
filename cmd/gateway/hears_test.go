package main

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway/internal/config"
)

// What all drivers say goes to those who show it. Elsewhere nobody would take it, and
// it would fill the memory.
func TestOnlyAProcessWithFrontendsHearsTheDrivers(t *testing.T) {
	for file, hears := range map[string]bool{
		"frontends: {}\n": false,
		"frontends: {rest: {listen: \"127.0.0.1:0\"}}\n": true,
	} {
		f, err := plan(config.Parse("test", []byte(file+"ops: {listen: \"\"}\nbus: {listen: \"127.0.0.1:0\"}\n")))
		if err != nil {
			t.Fatal(err)
		}
		p, err := build(f, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.bus.Listen(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := p.bus.Subscription != nil; got != hears {
			t.Errorf("%q: %v", file, got)
		}
		if err := p.bus.close(); err != nil {
			t.Error(err)
		}
	}
}
