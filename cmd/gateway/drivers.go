package main

import (
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/describe"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/modbus"
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
	// build makes the driver. The configuration has passed Check.
	build(site) (device.Driver, error)
}

// A site is where a driver is built.
type site struct {
	device string
	line   *link.Line // nil if the driver does not need one
	// byteTime is how long one byte takes on the line, 0 where that is not known.
	byteTime time.Duration
	lines    *lines
	log      zerolog.Logger
}

// lines are one for all devices of the process, since those that share a line
// must know of each other's late replies.
type lines struct {
	serial serial.Lines
	modbus modbus.Lines
}

var driverTypes = []driverType{
	{"serial", true, func() driverConfig { return &serialConfig{} }},
	{"modbus", true, func() driverConfig { return &modbusConfig{} }},
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

func (c *serialConfig) instrument(device string) (simulated, []describe.Problem) {
	i, problems := serial.NewInstrument(device, c.Config, simSeed)
	if i == nil {
		return nil, problems
	}
	return i, problems
}

func (c *serialConfig) build(at site) (device.Driver, error) {
	return at.lines.serial.New(at.device, c.Config, at.line, at.log)
}

type modbusConfig struct {
	modbus.Config `yaml:",inline"`
}

func (c *modbusConfig) build(at site) (device.Driver, error) {
	return at.lines.modbus.New(at.device, c.Config, at.line, at.byteTime, at.log)
}

type softConfig struct {
	sim.SoftConfig `yaml:",inline"`
}

func (c *softConfig) build(at site) (device.Driver, error) {
	return sim.NewSoft(at.device, c.SoftConfig, time.Now)
}

type countersConfig struct {
	sim.CountersConfig `yaml:",inline"`
}

func (c *countersConfig) build(at site) (device.Driver, error) {
	return sim.NewCounters(at.device, c.CountersConfig, time.Now)
}
