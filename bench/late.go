//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/polygate/gateway/bus/embedded"
)

var lateJoin = measure{
	name: "late-join", title: "a gateway that joins 10,000 attributes on a NATS outside: until its table is complete",
	target: "at most 1 s", run: runLateJoin,
}

// runLateJoin starts a process with the device, then one with the frontend, and
// counts from the moment at which that one serves.
func runLateJoin(b *bench) (outcome, error) {
	const attributes = 10_000
	broker, err := embedded.Start(embedded.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		return outcome{}, err
	}
	defer broker.Shutdown()
	url := fmt.Sprintf("bus: {url: %q}\n", broker.URL())
	driver, err := startGateway(b.gateway, url+restOnly+softDevice(attributes))
	if err != nil {
		return outcome{}, err
	}
	defer driver.stop()
	if err := driver.waitFor("soft.v09999"); err != nil {
		return outcome{}, err
	}
	var times []float64
	for range 5 {
		took, err := joinOnce(b, url)
		if err != nil {
			return outcome{}, err
		}
		times = append(times, took.Seconds())
	}
	return absolute(fmt.Sprintf("%.0f ms", 1000*median(times)), quantile(times, 1) <= 1,
		fmt.Sprintf("five times, slowest %.0f ms", 1000*quantile(times, 1))), nil
}

func joinOnce(b *bench, url string) (time.Duration, error) {
	joining, err := startGateway(b.gateway, url+restOnly)
	if err != nil {
		return 0, err
	}
	defer joining.stop()
	start := time.Now()
	for {
		var answer struct {
			Devices []struct {
				Attributes int    `json:"attributes"`
				State      string `json:"state"`
			} `json:"devices"`
		}
		if err := getJSON(context.Background(), joining.base+"/api/v1/devices", &answer); err != nil {
			return 0, err
		}
		if len(answer.Devices) == 1 && answer.Devices[0].Attributes == 10_000 && answer.Devices[0].State == "connected" {
			return time.Since(start), nil
		}
		if time.Since(start) > 20*time.Second {
			return 0, fmt.Errorf("the table never was complete: %+v", answer)
		}
	}
}
