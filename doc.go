// Package gateway holds the nouns of polygate: what an attribute is, what a
// sample of it says, how a put ends, and what a frontend may ask of the hub.
//
// Everything here is a value or an interface. The package imports only the
// standard library, starts no goroutine and opens nothing. Values that have
// been published (samples, descriptors, the slices inside array values) are
// shared by every reader of every protocol and must never be changed.
//
// Two verbs run through the whole program and are never mixed: an update is
// what the device says, a put is what a client asks for.
package gateway
