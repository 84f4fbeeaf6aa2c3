package rpc

import "time"

// limits are the limits in time.
type limits struct {
	handshake time.Duration // for a new connection to speak HTTP/2
	silence   time.Duration // of a connection before it is asked whether its client is still there
	pong      time.Duration // for the answer to that
	ping      time.Duration // between keep-alives of a client; more often costs it the connection
	keepAlive time.Duration // between signs of life on a quiet stream
	drain     time.Duration // for what is under way when the frontend stops
}

// Proxies cut what was quiet for 30 to 60 s, so clients commonly ask every 20
// or 30 s; gRPC's own default would punish anything below 5 minutes.
func defaultLimits() limits {
	return limits{
		handshake: 10 * time.Second, silence: 30 * time.Second, pong: 10 * time.Second,
		ping: 10 * time.Second, keepAlive: 15 * time.Second, drain: 3 * time.Second,
	}
}

// Limits in size of what one client can make the frontend keep.
const (
	maxHead        = 16 << 10 // bytes of a call's headers
	maxCalls       = 1024     // calls under way on one connection; its client queues further ones
	maxNames       = 16 << 10 // names and patterns in one watch
	maxPatterns    = 64       // of them with wildcards, each of which is tried on every event
	maxPuts        = 256      // puts of one session that wait for a verdict
	maxAnswers     = 4        // answers of one session that wait to be sent
	maxCorrelation = 128      // bytes of a client's request id that travel with a put
	maxWords       = 1 << 10  // bytes of a text in an error, which travels in headers
	shareFrom      = 1 << 10  // bytes of a value whose encoding clients share
	minBatch       = 256      // bytes that a batch begins with
	readBuffer     = 8 << 10  // bytes of a connection
	batchBytes     = 64 << 10 // bytes of events that are collected before they are sent
	batchEvents    = 512      // events that are collected before they are sent
	pageBytes      = 1 << 20  // bytes of a page, unless one single entry is larger
	pageEntries    = 256      // entries that are asked of the hub at a time
)
