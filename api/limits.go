package api

import "time"

// limits are the limits in time. They are shorter than what proxies in between
// use to give up, and long enough for a slow network.
type limits struct {
	read      time.Duration // for one request, so that a slow sender does not hold a connection
	write     time.Duration // for one answer
	idle      time.Duration // of a kept-alive connection without a stream
	batch     time.Duration // for one write of a stream
	keepAlive time.Duration // between signs of life on a quiet stream
	pong      time.Duration // without any sign of life of a WebSocket's client
	linger    time.Duration // for a client that goes on sending after it was refused, and for a closing handshake
	drain     time.Duration // for what is under way when the frontend stops
}

// silence is how long a peer may confirm nothing, not even that bytes arrived.
const silence = 30 * time.Second

func defaultLimits() limits {
	return limits{
		read: 30 * time.Second, write: 30 * time.Second, idle: 2 * time.Minute,
		batch: 10 * time.Second, keepAlive: 15 * time.Second, pong: 30 * time.Second,
		linger: time.Second, drain: 3 * time.Second,
	}
}

// Limits in size of what one client can make the frontend keep.
const (
	maxHead        = 16 << 10 // bytes of the request line with the headers
	maxCorrelation = 128      // bytes of a client's request id that travel with a put
	maxPuts        = 256      // puts of one WebSocket that wait for a verdict
	maxAnswers     = 64       // answers of one WebSocket that wait to be written
	batchBytes     = 64 << 10 // bytes of a stream that are collected before they are written
	spareConns     = 64       // connections beyond the limit that still get a proper refusal
)
