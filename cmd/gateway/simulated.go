package main

import (
	"time"

	"github.com/polygate/gateway/device/describe"
	"github.com/polygate/gateway/device/sim"
	"github.com/polygate/gateway/internal/config"
)

// simDevices is the simulated instrument that answers as the devices on its
// link are described in the file.
const simDevices = "devices"

// A simulator is a driver's configuration from which an instrument can be simulated.
type simulator interface {
	// instrument returns nil after a mistake. Warnings tell what it cannot do.
	instrument(device string) (simulated, []describe.Problem)
}

// A simulated instrument says what ends its requests and replies.
type simulated interface {
	sim.Instrument
	Ends() (request, reply string)
}

// planSimulated makes the links whose instruments are described by their devices.
func (f *file) planSimulated(document *config.Document) {
	for _, name := range document.Keys("links") {
		if document.Text("links", name, "sim") != simDevices {
			continue
		}
		var instruments sim.Several
		var server sim.Server
		for _, planned := range f.devices {
			if planned.link != name {
				continue
			}
			i, ok := f.simulate(document, planned)
			if !ok {
				continue
			}
			request, reply := i.Ends()
			if len(instruments) > 0 && (request != server.Terminator || reply != *server.ReplyEnd) {
				document.Problem([]string{"devices", planned.name}, "devices on a simulated link have the same terminators")
			}
			server.Terminator, server.ReplyEnd = request, &reply
			instruments = append(instruments, i)
		}
		server.Instrument, server.Now = instruments, time.Now
		f.links[name] = sim.NewServerOpener("devices", &server)
	}
}

func (f *file) simulate(document *config.Document, planned plannedDevice) (simulated, bool) {
	c, ok := planned.config.(simulator)
	if !ok {
		document.Problem([]string{"devices", planned.name, "driver"}, "instruments of this driver cannot be simulated")
		return nil, false
	}
	i, problems := c.instrument(planned.name)
	if i == nil {
		return nil, false // Its mistakes are reported already.
	}
	for _, problem := range problems {
		f.warnings = append(f.warnings, "devices."+planned.name+": "+problem.Msg)
	}
	return i, true
}
