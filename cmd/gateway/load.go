package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/internal/config"
)

// A ratedLink has a baud rate.
type ratedLink interface {
	Rate() int
	ByteTime() time.Duration
}

// A linePoller is a driver that can tell which share of a line's time its polls
// need, where one byte takes so long.
type linePoller interface {
	LineShare(byteTime time.Duration) float64
}

// A lineLoad is how much of a line's time the polls of all its devices need, as
// far as that can be known beforehand.
type lineLoad struct {
	link  string
	baud  int
	share float64
}

// String is like "line1: polls need 43 % of 9600 baud".
func (l lineLoad) String() string {
	return fmt.Sprintf("%s: polls need %.0f %% of %d baud", l.link, math.Ceil(100*l.share), l.baud)
}

// A flowLink may have flow control in the bytes themselves.
type flowLink interface{ XonXoff() bool }

// A rawSpeaker is a driver that can tell whether it sends or reads bytes of any value.
type rawSpeaker interface{ RawBytes() bool }

// warnOfFlow warns of a device whose bytes the flow control of its line takes away.
func (f *file) warnOfFlow(planned plannedDevice, driver device.Driver) {
	l, isFlow := f.links[planned.link].(flowLink)
	d, isRaw := driver.(rawSpeaker)
	if isFlow && isRaw && l.XonXoff() && d.RawBytes() {
		f.warnings = append(f.warnings, fmt.Sprintf("devices.%s: it has bytes of any value (%%r, %%R, %%D or a checksum), and flow: xonxoff of %s takes 0x11 and 0x13 away", planned.name, planned.link))
	}
}

// A breakSender is a driver that can tell whether it sends breaks.
type breakSender interface{ SendsBreaks() bool }

// checkBreaks reports a device that sends breaks on a link that has none.
func (f *file) checkBreaks(document *config.Document, planned plannedDevice, driver device.Driver) {
	if d, ok := driver.(breakSender); !ok || !d.SendsBreaks() {
		return
	}
	switch l := f.links[planned.link].(type) {
	case link.TCP, link.UDP:
		document.Problem([]string{"devices", planned.name, "link"}, "the device is sent a break, which %s cannot do: port and rfc2217 can", l)
	}
}

// addLoad adds what a device needs to the load of its line, if the line has a baud rate.
func (f *file) addLoad(name string, driver device.Driver) {
	rated, hasRate := f.links[name].(ratedLink)
	poller, polls := driver.(linePoller)
	if !hasRate || !polls {
		return
	}
	i := slices.IndexFunc(f.loads, func(l lineLoad) bool { return l.link == name })
	if i < 0 {
		i = len(f.loads)
		f.loads = append(f.loads, lineLoad{link: name, baud: rated.Rate()})
	}
	f.loads[i].share += poller.LineShare(rated.ByteTime())
}

// warnOfLoads warns of lines that are too slow for what is asked of them.
func (f *file) warnOfLoads() {
	for _, load := range f.loads {
		if load.share > 1 {
			f.warnings = append(f.warnings, load.String()+"; they will come late: poll less often, or raise the baud rate of line and instrument")
		}
	}
}
