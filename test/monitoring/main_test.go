//go:build unix

// Package monitoring_test asks a Prometheus that scrapes running gateways what
// the alerts and the dashboard ask.
package monitoring_test

import (
	"os"
	"testing"

	"github.com/polygate/gateway/test/rig"
)

var program rig.Program

func TestMain(m *testing.M) { os.Exit(rig.Main(m, &program)) }
