//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/serial"
)

var lineExchanges = measure{
	name: "exchanges", title: "exchanges a second of the serial driver on a pseudo-terminal, polling as fast as it can, over a bare loop that asks the same",
	target: "", run: runExchanges,
}

// runExchanges lets the driver and a bare loop ask an instrument each, in turn.
func runExchanges(b *bench) (outcome, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // The instruments have one core.
	driver, stopDriver, err := startAsker("exchanges-driver", b.window)
	if err != nil {
		return outcome{}, err
	}
	defer stopDriver()
	bare, stopBare, err := startAsker("exchanges-bare", b.window)
	if err != nil {
		return outcome{}, err
	}
	defer stopBare()
	r, err := compare(b.pairs, driver, bare)
	if err != nil {
		return outcome{}, err
	}
	return against(r, nil, fmt.Sprintf("%.0f of %.0f exchanges/s", r.Subject, r.Reference)), nil
}

// startAsker starts an instrument, and a process that asks it for a window
// whenever its rate is wanted.
func startAsker(who string, window time.Duration) (rate sampler, stop func(), err error) {
	instrument, err := startClock()
	if err != nil {
		return nil, nil, err
	}
	process, address, err := startFloor(who, instrument.pair.Path)
	if err != nil {
		instrument.stop()
		return nil, nil, err
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		process.stop()
		instrument.stop()
		return nil, nil, err
	}
	return askFor(conn, window), func() {
		_ = conn.Close()
		process.stop()
		instrument.stop()
	}, nil
}

// askFor lets the process behind conn ask for so long, and returns its rate.
func askFor(conn net.Conn, window time.Duration) sampler {
	answers := bufio.NewReader(conn)
	return func() (float64, error) {
		if _, err := fmt.Fprintln(conn, window); err != nil {
			return 0, err
		}
		line, err := answers.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.ParseFloat(strings.TrimSpace(line), 64)
	}
}

// serveRates calls exchange for as long as the one client says, and tells it how
// often that was in a second.
func serveRates(listener net.Listener, exchange func() error) error {
	client, err := listener.Accept()
	if err != nil {
		return err
	}
	defer client.Close()
	windows := bufio.NewReader(client)
	for {
		line, err := windows.ReadString('\n')
		if err != nil {
			return err
		}
		window, err := time.ParseDuration(strings.TrimSpace(line))
		if err != nil {
			return err
		}
		start, count := time.Now(), 0
		for time.Since(start) < window {
			if err := exchange(); err != nil {
				return err
			}
			count++
		}
		if _, err := fmt.Fprintln(client, float64(count)/time.Since(start).Seconds()); err != nil {
			return err
		}
	}
}

// floorExchanges asks as little as possible: write a line, read a line.
func floorExchanges(listener net.Listener, port string) error {
	opened, err := link.Serial{Path: port, Baud: 115200}.Open(context.Background())
	if err != nil {
		return err
	}
	defer opened.Close()
	replies := bufio.NewReader(opened)
	return serveRates(listener, func() error {
		if _, err := io.WriteString(opened, "T?\r\n"); err != nil {
			return err
		}
		_, err := replies.ReadSlice('\n')
		return err
	})
}

// driverExchanges polls with the driver, as its supervisor would.
func driverExchanges(listener net.Listener, port string) error {
	ctx, cancel := context.WithCancel(context.Background())
	line := link.NewLine("line1", link.Serial{Path: port, Baud: 115200})
	var served sync.WaitGroup
	defer served.Wait()
	defer cancel()
	served.Go(func() { _ = line.Serve(ctx) })
	terminator := "\r\n"
	driver, err := serial.New("clock", serial.Config{Terminator: &terminator, Attributes: map[string]serial.Attribute{
		"t": clockAttribute(),
	}}, line, zerolog.Nop())
	if err != nil {
		return err
	}
	if err := driver.Connect(ctx, noSink{}); err != nil {
		return err
	}
	defer driver.Close()
	var readings []device.Reading
	return serveRates(listener, func() error {
		if readings, err = driver.Poll(ctx, 0, readings[:0]); err != nil {
			return err
		}
		if len(readings) != 1 || readings[0].Failed() {
			return fmt.Errorf("the poll read %v", readings)
		}
		return nil
	})
}

// clockAttribute is the time that the instrument says.
func clockAttribute() serial.Attribute {
	a := serial.Attribute{Read: serial.Steps{{Send: "T?"}}, Reply: "T=%d", Poll: time.Second}
	a.Kind = gateway.Int64.String()
	return a
}

// noSink takes what the driver says by itself, which is nothing.
type noSink struct{}

func (noSink) Deliver([]device.Reading) {}
func (noSink) Down(error)               {}
func (noSink) Lost(error)               {}
