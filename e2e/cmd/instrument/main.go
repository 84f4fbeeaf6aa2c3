// Command instrument is a simulated instrument for tests of the gateway in
// containers. It speaks lines over TCP, to all who connect:
//
//	P?     ->  P=<its clock>      what is polled
//	           T=<its clock>      unasked, every -every
//	H?     ->  H=<number>         what it holds; 0 after each start
//	H=<n>                         holds another number; not answered
//
// Its clock is the time of this host in Unix microseconds, which a float64 holds
// exactly. What it has said and what it was told can be asked over HTTP at
// -control, and is written to standard output where a restart must not lose it.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	listen := flag.String("listen", ":7000", "where to serve")
	control := flag.String("control", ":7001", "where to tell what was said")
	every := flag.Duration("every", 0, "how often to tell the clock unasked; 0 is never")
	flag.Parse()
	if err := run(*listen, *control, *every); err != nil {
		fmt.Fprintln(os.Stderr, "instrument:", err)
		os.Exit(1)
	}
}

func run(listen, control string, every time.Duration) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	var config net.ListenConfig
	lines, err := config.Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	defer lines.Close()
	asked, err := config.Listen(ctx, "tcp", control)
	if err != nil {
		return err
	}
	i := newInstrument(os.Stdout)
	return i.serve(ctx, lines, asked, every)
}
