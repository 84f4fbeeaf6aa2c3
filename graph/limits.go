package graph

import "time"

// limits are the limits in time. They are shorter than what proxies in between
// use to give up, and long enough for a slow network.
type limits struct {
	read      time.Duration // for one request, so that a slow sender does not hold a connection
	write     time.Duration // for one answer
	idle      time.Duration // of a kept-alive connection without a stream
	begin     time.Duration // from a WebSocket's upgrade to its connection_init
	batch     time.Duration // for one write of a stream
	keepAlive time.Duration // between signs of life on a quiet stream
	pong      time.Duration // for the answer to such a sign on a WebSocket
	linger    time.Duration // for a closing handshake
	drain     time.Duration // for what is under way when the frontend stops
}

// silence is how long a peer may confirm nothing, not even that bytes arrived.
const silence = 30 * time.Second

func defaultLimits() limits {
	return limits{
		read: 30 * time.Second, write: 30 * time.Second, idle: 2 * time.Minute, begin: 10 * time.Second,
		batch: 10 * time.Second, keepAlive: 15 * time.Second, pong: 14 * time.Second,
		linger: time.Second, drain: 3 * time.Second,
	}
}

// Limits in size of what one client can make the frontend keep or do.
const (
	maxHead          = 16 << 10 // bytes of the request line with the headers: a query by GET is part of them
	maxCorrelation   = 128      // bytes of a client's request id that travel with a put
	maxQuery         = 64 << 10 // bytes of a query; variables have room in the rest of the request
	maxTokens        = 4000     // words of a query: comparing fields takes time that grows with their square
	maxDepth         = 12       // of selections in selections; introspection is bounded by gqlparser's own rule
	maxAliases       = 100      // fields under another name
	maxCost          = 250_000  // fields of an answer, by a guess before it is made
	maxOperations    = 64       // queries and mutations of one WebSocket under way
	maxSubscriptions = 1000     // of one WebSocket
	maxID            = 256      // bytes of a WebSocket client's id of an operation
	maxPuts          = 1000     // of one putMany
	putsAtOnce       = 64       // of one putMany that wait for a verdict at a time
	maxPage          = 1000     // attributes of one page
	pageBytes        = 1 << 20  // bytes of values after which a page ends early
	batchBytes       = 64 << 10 // bytes of values after which a delivery ends
	batchEvents      = 1000     // events of one delivery
	spareConns       = 64       // connections beyond the limit that still get a proper refusal
	cachedQueries    = 256      // parsed queries that are kept
	cachedQueryBytes = 2 << 10  // length up to which they are: a parsed query takes a hundred times its length
	persistedQueries = 256      // queries that clients may ask for by their hash
)
