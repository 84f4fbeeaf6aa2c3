// Package lease lets one process at a time talk to instruments. The lease is a
// record in a key-value bucket of NATS's JetStream: whoever holds it renews it
// often, and others take it over once it was not renewed for its whole length.
//
// Nobody's clock is compared with another's. The holder counts from when it sent
// a renewal that was confirmed, those who stand by from when they saw one, which
// is later; and the holder stops a margin earlier. It looks at the clock before
// everything that it says to an instrument, so that one who was held, or cut off
// from NATS, has stopped before another begins. Two clocks count, the monotonic
// and that of the wall, whichever is further: the first stands still while a
// machine sleeps.
//
// What the store does not have proves nothing, since a server may have lost it:
// who finds no record makes one and waits for as long as an earlier holder could
// believe in it. It is trusted not to go back to an older state.
package lease
