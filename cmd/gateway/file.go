package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/ca"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/internal/config"
	"github.com/polygate/gateway/internal/nearest"
	"github.com/polygate/gateway/internal/ops"
)

// A file is a configuration that has been checked: what it plans can be built.
type file struct {
	bus       bus.Config
	ops       ops.Config
	frontends []plannedFrontend
	links     map[string]link.Opener
	greetings map[string]*link.Greeting // of the links that have one
	devices   []plannedDevice
	loads     []lineLoad
	warnings  []string
}

type plannedFrontend struct {
	name   string
	config frontendConfig
}

type plannedDevice struct {
	name   string
	link   string // empty if the driver needs none
	config driverConfig
	sound  bool // nothing is wrong with it in itself
}

// sections are the keys at the top of the file.
var sections = []string{"bus", "frontends", "links", "devices", "ops"}

// deviceKeys are the keys of a device that do not belong to its driver.
var deviceKeys = []string{"driver", "link"}

// plan reads a document. The error is a config.Errors with all mistakes.
func plan(document *config.Document) (*file, error) {
	f := &file{ops: ops.DefaultConfig(), links: map[string]link.Opener{}, greetings: map[string]*link.Greeting{}}
	var top struct{}
	document.Decode(&top, nil, sections...)
	f.planBus(document)
	document.Decode(&f.ops, []string{"ops"})
	checkListen(document, "ops")
	f.planFrontends(document)
	f.planLinks(document)
	for _, name := range document.Keys("devices") {
		f.planDevice(document, name)
	}
	f.planSimulated(document)
	f.checkNames(document)
	if f.bus.Lease != "" && len(f.devices) == 0 {
		f.warnings = append(f.warnings, "bus.lease: there is no device to talk to, so nothing waits for it")
	}
	if err := document.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *file) planBus(document *config.Document) {
	document.Decode(&f.bus, []string{"bus"})
	err := f.bus.Validate()
	var all interface{ Unwrap() []error }
	switch {
	case err == nil:
	case errors.As(err, &all):
		for _, one := range all.Unwrap() {
			busProblem(document, one)
		}
	default:
		busProblem(document, err)
	}
}

// busProblem finds the key in the message, which begins with it.
func busProblem(document *config.Document, err error) {
	key, _, _ := strings.Cut(err.Error(), ":")
	key, _, _ = strings.Cut(key, " ")
	document.Problem([]string{"bus", key}, "%v", err)
}

// planFrontends plans those that the file names, or all if it says nothing.
func (f *file) planFrontends(document *config.Document) {
	var none struct{}
	names := make([]string, len(frontendTypes))
	for i, t := range frontendTypes {
		names[i] = t.name
		if document.Has("frontends") && !document.Has("frontends", t.name) {
			continue
		}
		planned := plannedFrontend{name: t.name, config: t.config()}
		document.Decode(planned.config, []string{"frontends", t.name})
		f.frontends = append(f.frontends, planned)
		if t.name != "ca" { // which has forms of its own
			checkListen(document, "frontends", t.name)
		}
	}
	document.Decode(&none, []string{"frontends"}, names...)
}

// checkListen reports an address that nobody can listen on. An empty one is none.
func checkListen(document *config.Document, section ...string) {
	path := slices.Concat(section, []string{"listen"})
	address := document.Text(path...)
	if address == "" {
		return
	}
	if err := checkAddress("listen", address); err != nil {
		document.Problem(path, "%v", err)
	}
}

func (f *file) planLinks(document *config.Document) {
	for _, name := range document.Keys("links") {
		var c linkConfig
		document.Decode(&c, []string{"links", name})
		if err := gateway.CheckSegment(name); err != nil {
			document.Problem([]string{"links", name}, "the name of a link: %v", err)
			continue
		}
		opener, err := c.opener()
		if err != nil {
			document.Problem([]string{"links", name}, "link %s: %v", name, err)
			continue
		}
		f.links[name] = opener
		greeting, err := c.greeting()
		if err != nil {
			document.Problem([]string{"links", name, "open_wait"}, "link %s: %v", name, err)
			continue
		}
		f.greetings[name] = greeting
	}
}

func (f *file) planDevice(document *config.Document, name string) {
	at := []string{"devices", name}
	if err := gateway.CheckSegment(name); err != nil {
		document.Problem(at, "the name of a device: %v", err)
		return
	}
	driver := document.Text("devices", name, "driver")
	i := slices.IndexFunc(driverTypes, func(t driverType) bool { return t.name == driver })
	if i < 0 {
		known := strings.Join(driverNames(), ", ")
		if driver == "" {
			document.Problem(at, "device %s has no driver; drivers are %s", name, known)
		} else {
			document.Problem(append(at, "driver"), "there is no driver %q; drivers are %s", driver, known)
		}
		return
	}
	planned := plannedDevice{name: name, config: driverTypes[i].config()}
	before := document.Problems()
	document.Decode(planned.config, at, deviceKeys...)
	f.planLink(document, &planned, driverTypes[i].needLine)
	for _, problem := range planned.config.Check(name) {
		if problem.Warning {
			f.warnings = append(f.warnings, fmt.Sprintf("devices.%s.%s", name, problem))
			continue
		}
		document.ProblemAt(append(slices.Clone(at), problem.Path...), problem.Offset, "%s", problem.Msg)
	}
	planned.sound = document.Problems() == before
	f.devices = append(f.devices, planned)
}

func (f *file) planLink(document *config.Document, planned *plannedDevice, needed bool) {
	at := []string{"devices", planned.name, "link"}
	name := document.Text(at...)
	switch {
	case !needed && document.Has(at...):
		document.Problem(at, "this driver needs no link")
	case needed && name == "":
		document.Problem(at, "device %s has no link", planned.name)
	case needed && !document.Has("links", name):
		document.Problem(at, "there is no link %q%s", name, didYouMean(name, document.Keys("links")))
	}
	planned.link = name
}

func didYouMean(name string, candidates []string) string {
	if near := nearest.Of(name, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// checkNames builds the models of all devices that can be built and asks each
// protocol what it cannot carry. Two attributes with one name cannot pass the file itself.
func (f *file) checkNames(document *config.Document) {
	var descriptors []*gateway.Descriptor
	annotations := map[string]map[string]string{}
	for _, planned := range f.devices {
		if !planned.sound || planned.link != "" && f.links[planned.link] == nil {
			continue
		}
		driver, err := planned.config.build(f.site(planned, f.line(planned.link), &lines{}, zerolog.Nop()))
		if err == nil {
			_, err = device.New(planned.name, driver, nil, device.Options{}) // checks the model and opens nothing
		}
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				document.Problem([]string{"devices", planned.name}, "%s", strings.TrimSpace(line))
			}
			continue
		}
		f.addLoad(planned.link, driver)
		f.warnOfFlow(planned, driver)
		f.checkBreaks(document, planned, driver)
		model := driver.Model()
		annotations[planned.name] = model.Info.Annotations
		for i := range model.Attributes {
			descriptors = append(descriptors, &model.Attributes[i])
		}
	}
	f.warnOfLoads()
	for _, problem := range ca.Check(descriptors, annotations) {
		document.Problem(f.placeOf(document, problem.Path), "%s: %s", problem.Path, problem.Msg)
	}
}

// site is where the driver of a planned device is built.
func (f *file) site(planned plannedDevice, line *link.Line, together *lines, log zerolog.Logger) site {
	at := site{device: planned.name, line: line, lines: together, log: log}
	if rated, ok := f.links[planned.link].(ratedLink); ok {
		at.byteTime = rated.ByteTime()
	}
	return at
}

// unusedAfter is longer than a driver takes to come back after a fault.
const unusedAfter = 3 * time.Second

// line makes the line of a link, which opens nothing; nil for a device without.
func (f *file) line(name string, options ...link.Option) *link.Line {
	opener, ok := f.links[name]
	if !ok {
		return nil
	}
	options = append(slices.Clip(options), link.OnlyWhileUsed(unusedAfter))
	if g := f.greetings[name]; g != nil {
		options = append(options, link.AwaitGreeting(*g))
	}
	return link.NewLine(name, opener, options...)
}

// placeOf finds the key of an attribute or command in the file, or the device
// if it comes from a group.
func (f *file) placeOf(document *config.Document, path gateway.Path) []string {
	for _, section := range []string{"attributes", "commands"} {
		at := []string{"devices", path.Device(), section, path.Attribute()}
		if document.Has(at...) {
			return at
		}
	}
	return []string{"devices", path.Device()}
}

// withHost replaces the host of a listen address.
func withHost(address, host string) string {
	if address == "" {
		return ""
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return net.JoinHostPort(host, port)
}
