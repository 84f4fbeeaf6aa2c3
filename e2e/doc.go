// Package e2e tests the gateway in its image: NATS, gateways, a simulated
// instrument and clients in containers of their own, one network for each test.
//
// The images are built FROM scratch out of static programs, so nothing is
// pulled. Without Docker the tests skip. README.md tells how they are run and
// shows the latencies that they measured.
package e2e
