// Package bus carries what drivers and hubs say to each other over NATS: the
// subjects, one connection for the whole process, and the order of things.
//
// It keeps no table and decides nothing. What it promises:
//
//   - All that a hub receives comes through one channel in the order in which
//     the connection delivered it, so a verdict never overtakes its update.
//   - Nothing is kept for later. While the bus is away everything fails at once
//     with gateway.KindBusDown, and nothing is sent again after it is back.
//   - Nothing that comes from the bus ends the program: what cannot be decoded
//     is counted, logged once for each subject, and dropped.
//   - Loss is said: lost messages become a *gateway.Dropped, a lost connection a
//     *gateway.BusState.
//
// It does not promise delivery. A publisher learns only that the message was
// handed to the connection; what must be answered is a put.
package bus
