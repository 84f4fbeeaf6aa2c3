package main

import (
	"bytes"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/polygate/gateway/device/sim"
	"github.com/polygate/gateway/internal/config"
)

func newDemo() *cobra.Command {
	var (
		host, level    string
		counters, soft int
		rate           float64
		print          bool
	)
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run with a simulated instrument, everything in this process",
		Long: `Runs the gateway with a simulated temperature controller on a pseudo-terminal, for
this host only. It needs no file and no hardware.

--print shows its configuration file: a good start for one of your own.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			text := demoFile(counters, rate, soft)
			if print {
				_, err := c.OutOrStdout().Write(text)
				return err
			}
			log, err := newLogger(c.ErrOrStderr(), level)
			if err != nil {
				return err
			}
			f, err := plan(config.Parse("demo", text))
			if err != nil {
				return err
			}
			if c.Flags().Changed("listen") {
				if host != "" && net.ParseIP(host) == nil && host != "localhost" {
					return usagef("--listen %q: want an IP address of this host, or 0.0.0.0 for all", host)
				}
				for _, planned := range f.frontends {
					planned.config.listenOn(host)
				}
			}
			return runFile(c.Context(), f, log, func(p *process) { welcome(c, p) })
		},
	}
	flags := c.Flags()
	flags.StringVar(&host, "listen", "127.0.0.1", "address to serve on; 0.0.0.0 is everybody who can reach this host")
	flags.IntVar(&counters, "counters", 0, "add the device TEST with so many counters")
	flags.Float64Var(&rate, "rate", 10, "how often the counters count, in Hz")
	flags.IntVar(&soft, "soft", 0, "add the device soft with so many attributes that take any value")
	flags.BoolVar(&print, "print", false, "print the configuration file and exit")
	addLogFlag(c, &level)
	return c
}

// demoFile is the configuration of the demo. Its last section is "devices", so
// that further devices can be appended.
func demoFile(counters int, rate float64, soft int) []byte {
	text := bytes.Clone(sim.DemoConfig)
	if counters > 0 {
		text = fmt.Appendf(text, "\n  TEST: {driver: counters, count: %d, rate: %g}\n", counters, rate)
	}
	if soft > 0 {
		text = fmt.Appendf(text, "\n  soft: {driver: soft, count: %d}\n", soft)
	}
	return text
}

// welcome tells where everything is and what to try first.
func welcome(c *cobra.Command, p *process) {
	out := c.OutOrStdout()
	fmt.Fprintln(out, "polygate is running with a simulated temperature controller.")
	fmt.Fprintln(out)
	for _, f := range p.frontends {
		fmt.Fprintf(out, "  %-12s %s\n", f.name, f.Where())
	}
	if p.ops != nil {
		fmt.Fprintf(out, "  %-12s http://%s/status\n", "operations", p.ops.Addr())
	}
	for _, f := range p.frontends {
		if f.name == "rest" {
			base := f.Where() + "/api/v1"
			fmt.Fprintf(out, `
Try:
  curl %[1]s/attributes/demo.r1.start
  curl -X PUT %[1]s/attributes/demo.r1.start -d 10
  curl -X PUT %[1]s/attributes/demo.r1.enabled -d On
  curl -N '%[1]s/stream?match=demo.r1.actual'
`, base)
		}
		if f.name == "ca" {
			fmt.Fprintln(out, "  caget DEMO:R1:Start")
		}
	}
	fmt.Fprintln(out, "\nStop it with Ctrl-C.")
}
