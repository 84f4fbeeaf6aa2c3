//go:build unix

// Package rig runs the built gateway for end-to-end tests, as its users run it:
// a process of its own that is started with a file, asked over HTTP, and
// stopped, killed or held by signals.
//
// Nothing here waits for a fixed time. What is waited for has a limit, after
// which the test fails and says what the program logged.
package rig

import "time"

// Limit bounds every wait that no test has an opinion about. It is generous:
// it is only ever reached by a fault.
const Limit = 30 * time.Second
