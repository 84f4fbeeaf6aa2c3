package sim

import _ "embed"

// DemoConfig is a complete configuration file: the simulated temperature
// controller as device demo, on a line of its own.
//
//go:embed demo.yaml
var DemoConfig []byte
