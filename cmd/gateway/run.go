package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/polygate/gateway/internal/config"
)

func newRun() *cobra.Command {
	var name, level string
	c := &cobra.Command{
		Use:   "run -c FILE",
		Short: "Run the gateway with a configuration file",
		Long: `Runs the gateway until it gets SIGTERM or an interrupt, and then stops within ten
seconds: it takes no new puts, finishes those under way, and lets go of everything.

It exits with 2 if the file, the command line or a port that is taken keeps it
from starting, and with 1 if a part fails later.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			log, err := newLogger(c.ErrOrStderr(), level)
			if err != nil {
				return err
			}
			f, err := load(name)
			if err != nil {
				return err
			}
			for _, warning := range f.warnings {
				log.Warn().Msg(warning)
			}
			return runFile(c.Context(), f, log, func(p *process) {
				for _, f := range p.frontends {
					log.Info().Str("component", f.name).Msg("serving at " + f.Where())
				}
				log.Info().Int("devices", len(p.devices)).Msg("polygate " + versionText() + " is running")
			})
		},
	}
	addFileFlag(c, &name)
	addLogFlag(c, &level)
	return c
}

func addFileFlag(c *cobra.Command, name *string) {
	c.Flags().StringVarP(name, "config", "c", "", "the configuration file (required)")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
}

func addLogFlag(c *cobra.Command, level *string) {
	c.Flags().StringVar(level, "log-level", "info", "what is logged: debug, info, warn or error")
}

// load reads and checks a file.
func load(name string) (*file, error) {
	if name == "" {
		return nil, usagef("which file? give its name with -c")
	}
	document, err := config.ReadFile(name)
	if err != nil {
		return nil, &usageError{err}
	}
	return plan(document)
}

// runFile builds and runs what is planned; ready is called when all of it serves.
func runFile(ctx context.Context, f *file, log zerolog.Logger, ready func(*process)) error {
	p, err := build(f, log)
	if err != nil {
		return err
	}
	return p.run(ctx, func() { ready(p) })
}

// newLogger writes for people if they look, and JSON for programs.
func newLogger(out io.Writer, level string) (zerolog.Logger, error) {
	parsed, err := zerolog.ParseLevel(level)
	if err != nil || level == "" {
		return zerolog.Nop(), usagef("--log-level %q: want debug, info, warn or error", level)
	}
	if isTerminal(out) {
		out = zerolog.ConsoleWriter{Out: out, TimeFormat: "15:04:05.000"}
	}
	return zerolog.New(out).Level(parsed).With().Timestamp().Logger(), nil
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func newCheck() *cobra.Command {
	var name string
	var connect bool
	c := &cobra.Command{
		Use:   "check -c FILE",
		Short: "Check a configuration file without opening anything",
		Long: `Reports every mistake in the file at once, each with its line and column, and what
single protocols cannot carry. It opens no port and needs no device. For each serial
line it estimates how much of the line's time the polls of its devices need. With
--connect it also connects to the NATS outside, if the file names one.

It exits with 2 if there is a mistake.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f, err := load(name)
			if err != nil {
				return err
			}
			for _, warning := range f.warnings {
				fmt.Fprintf(c.OutOrStdout(), "%s: warning: %s\n", name, warning)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s is fine: %s\n", name, f.summary())
			for _, load := range f.loads {
				fmt.Fprintf(c.OutOrStdout(), "  %s\n", load)
			}
			if !connect {
				return nil
			}
			return reach(c.Context(), f.bus, c.OutOrStdout())
		},
	}
	addFileFlag(c, &name)
	c.Flags().BoolVar(&connect, "connect", false, "connect to the NATS outside, too")
	return c
}

// summary counts what a file holds.
func (f *file) summary() string {
	return fmt.Sprintf("%d links, %d devices, %d frontends", len(f.links), len(f.devices), len(f.frontends))
}
