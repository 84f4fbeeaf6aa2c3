package ca

// protocol is what puts from here say of where they come from.
const protocol = "ca"

// Limits of what one circuit can make the gateway keep.
const (
	maxChannels      = 100_000
	maxSubscriptions = 100_000
	// maxEvents may wait for a client: with the queue's bound in bytes, six seconds
	// of 1,000 monitors at 10 Hz. Clients in Python need such pauses.
	maxEvents = 1 << 16
	maxWanted = 1000 // names that were searched for in vain and may be found yet
	// maxWantedName is the longest of them, in bytes: a name that could be served,
	// and a field.
	maxWantedName = MaxName + 16
	maxPuts       = 1000 // puts that are under way; the next one waits in the connection
	maxLastPuts   = 1000 // attributes with a put that may not have been accepted yet
)
