package main

import (
	"net"
	"os"
	"strconv"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/api"
	"github.com/polygate/gateway/ca"
	"github.com/polygate/gateway/graph"
	"github.com/polygate/gateway/internal/app"
	"github.com/polygate/gateway/rpc"
)

// A frontendType is a row of the table of frontends: adding one is adding a row.
type frontendType struct {
	name   string
	config func() frontendConfig // with its defaults
}

// A frontendConfig is the section of one frontend.
type frontendConfig interface {
	// listenOn replaces the host of the address, for `demo --listen`.
	listenOn(host string)
	build(view gateway.View, log zerolog.Logger) frontend
}

// A frontend is a part that shows itself on the status page.
type frontend interface {
	app.Part
	Status() any
	// Where tells people where to find it, once it listens.
	Where() string
}

var frontendTypes = []frontendType{
	{"rest", func() frontendConfig { return &restConfig{api.DefaultConfig()} }},
	{"graphql", func() frontendConfig { return &graphqlConfig{graph.DefaultConfig()} }},
	{"grpc", func() frontendConfig { return &grpcConfig{rpc.DefaultConfig()} }},
	{"ca", func() frontendConfig { return &caConfig{ca.DefaultConfig()} }},
}

type restConfig struct {
	api.Config `yaml:",inline"`
}

func (c *restConfig) listenOn(host string) { c.Listen = withHost(c.Listen, host) }

func (c *restConfig) build(view gateway.View, log zerolog.Logger) frontend {
	return restFrontend{api.New(c.Config, view, log)}
}

type restFrontend struct{ *api.Server }

func (f restFrontend) Where() string { return "http://" + reachable(f.Addr()) }

type graphqlConfig struct {
	graph.Config `yaml:",inline"`
}

func (c *graphqlConfig) listenOn(host string) { c.Listen = withHost(c.Listen, host) }

func (c *graphqlConfig) build(view gateway.View, log zerolog.Logger) frontend {
	return graphqlFrontend{graph.New(c.Config, view, log)}
}

type graphqlFrontend struct{ *graph.Server }

func (f graphqlFrontend) Where() string { return "http://" + reachable(f.Addr()) + "/graphql" }

type grpcConfig struct {
	rpc.Config `yaml:",inline"`
}

func (c *grpcConfig) listenOn(host string) { c.Listen = withHost(c.Listen, host) }

func (c *grpcConfig) build(view gateway.View, log zerolog.Logger) frontend {
	return grpcFrontend{rpc.New(c.Config, view, log)}
}

type grpcFrontend struct{ *rpc.Server }

func (f grpcFrontend) Where() string { return reachable(f.Addr()) }

type caConfig struct {
	ca.Config `yaml:",inline"`
}

// listenOn serves this host alone in the way that needs no settings.
func (c *caConfig) listenOn(host string) {
	if host == "127.0.0.1" || host == "localhost" {
		host = "local"
	}
	if host == "" {
		host = "0.0.0.0"
	}
	c.Listen = ca.Endpoints{{Address: host}}
}

func (c *caConfig) build(view gateway.View, log zerolog.Logger) frontend {
	return ca.New(c.Config, view, log)
}

// reachable writes an address as people on other hosts can use it: a listener on
// every address has none of its own, so the host's name stands for it.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	host, err := os.Hostname()
	if err != nil {
		return addr.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}
