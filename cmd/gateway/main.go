// Command gateway serves instruments over REST and, as they come, other
// protocols. See its --help, and the README.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/polygate/gateway/internal/app"
	"github.com/polygate/gateway/internal/config"
)

// Exit codes. 2 is for what the user can put right before starting again: the
// command line, the file, a taken port.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(negatives(args))
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, err)
	return exitCode(err)
}

// negatives moves the negative numbers of `put` to where they are no flags.
func negatives(args []string) []string {
	if len(args) == 0 || args[0] != "put" || slices.Contains(args, "--") {
		return args
	}
	isNegative := func(arg string) bool {
		_, err := strconv.ParseFloat(arg, 64)
		return err == nil && strings.HasPrefix(arg, "-")
	}
	var numbers []string
	for _, arg := range args {
		if isNegative(arg) {
			numbers = append(numbers, arg)
		}
	}
	rest := slices.DeleteFunc(slices.Clone(args), isNegative)
	return slices.Concat(rest, []string{"--"}, numbers)
}

func exitCode(err error) int {
	var usage *usageError
	var file config.Errors
	var start *app.StartError
	if errors.As(err, &usage) || errors.As(err, &file) || errors.As(err, &start) {
		return exitUsage
	}
	return exitFailed
}

// A usageError is a mistake on the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "gateway",
		Short: "A gateway for instruments: one driver, every protocol",
		Long: `polygate's gateway drives instruments and serves their attributes.

Try it with a simulated instrument:   gateway demo
Then with your own:                   gateway run -c gateway.yaml`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, c.CommandPath())
	})
	root.AddCommand(
		newDemo(), newInstrument(), newRun(), newCheck(), newSchema(),
		newGet(), newPut(), newWatch(), newHealth(), newVersion(),
	)
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	for _, c := range append(root.Commands(), root) {
		checkArgs := c.Args
		c.Args = func(c *cobra.Command, args []string) error {
			if err := checkArgs(c, args); err != nil {
				return usagef("%w; see %s --help", err, c.CommandPath())
			}
			return nil
		}
	}
	return root
}
