package main

import (
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/describe"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/serial"
	"github.com/polygate/gateway/device/sim"
)

// A driverType is a row of the table of drivers: adding one is adding a row.
type driverType struct {
	name     string
	needLine bool
	config   func() driverConfig // with its defaults
}

// A driverConfig is the driver's own part of a device's configuration.
type driverConfig interface {
	Check(device string) []describe.Problem
	// build makes the driver. The configuration has passed Check; line is nil
	// if the driver does not need one.
	build(name string, line *link.Line, log zerolog.Logger) (device.Driver, error)
}

var driverTypes = []driverType{
	{"serial", true, func() driverConfig { return &serialConfig{} }},
	{"soft", false, func() driverConfig { return &softConfig{} }},
	{"counters", false, func() driverConfig { return &countersConfig{} }},
}

func driverNames() []string {
	names := make([]string, len(driverTypes))
	for i, d := range driverTypes {
		names[i] = d.name
	}
	return names
}

type serialConfig struct {
	serial.Config `yaml:",inline"`
}

func (c *serialConfig) build(name string, line *link.Line, log zerolog.Logger) (device.Driver, error) {
	return serial.New(name, c.Config, line, log)
}

type softConfig struct {
	sim.SoftConfig `yaml:",inline"`
}

func (c *softConfig) build(name string, _ *link.Line, _ zerolog.Logger) (device.Driver, error) {
	return sim.NewSoft(name, c.SoftConfig, time.Now)
}

type countersConfig struct {
	sim.CountersConfig `yaml:",inline"`
}

func (c *countersConfig) build(name string, _ *link.Line, _ zerolog.Logger) (device.Driver, error) {
	return sim.NewCounters(name, c.CountersConfig, time.Now)
}
