package cawire_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/polygate/gateway/ca/cawire"
)

// A server reads what has come in on a circuit. The rest of an incomplete
// message stays in the buffer until more comes.
func ExampleNext() {
	var in []byte
	version := cawire.Version{Minor: cawire.MinorCurrent}
	in, _ = version.Append(in, cawire.MinorCurrent)
	create := cawire.CreateChanRequest{CID: 1, Minor: cawire.MinorCurrent, Name: []byte("OVEN:Temperature")}
	in, _ = create.Append(in, cawire.MinorCurrent)
	in = in[:len(in)-8] // the rest is still on its way

	const limit = 1 << 20
	for {
		frame, n, err := cawire.Next(in, limit)
		if errors.Is(err, cawire.ErrIncomplete) {
			fmt.Printf("%d bytes are here, %d are needed\n", len(in), n)
			break
		}
		if err != nil {
			fmt.Println("close the circuit:", err)
			break
		}
		fmt.Println(cawire.Trace(frame, cawire.Client, cawire.OnCircuit))
		in = in[n:]
	}
	// Output:
	// C> VERSION minor=4.13 priority=0
	// 32 bytes are here, 40 are needed
}

// A server encodes an update once and sends it to each subscriber.
func ExampleAppendDBR() {
	meta := cawire.Meta{
		Status:   cawire.StatusHigh,
		Severity: cawire.MinorAlarm,
		Time:     cawire.TimeStampOf(time.Date(2024, 5, 6, 7, 8, 9, 500000000, time.UTC)),
	}
	value := cawire.Values{Doubles: []float64{81.5}}
	payload, err := cawire.AppendDBR(nil, cawire.DBRTimeDouble, 1, &meta, &value)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, subscription := range []uint32{17, 18} {
		event := cawire.Event{
			Type: cawire.DBRTimeDouble, Count: 1, Status: cawire.ECANormal,
			SubscriptionID: subscription, Payload: payload,
		}
		out, err := event.Append(nil, cawire.MinorCurrent)
		if err != nil {
			fmt.Println(err)
			return
		}
		frame, _, _ := cawire.Next(out, 1<<20)
		fmt.Println(len(out), cawire.Trace(frame, cawire.Server, cawire.OnCircuit))
	}
	// Output:
	// 40 S> EVENT subscription=17 DBR_TIME_DOUBLE[1] MINOR/HIGH 2024-05-06T07:08:09.5Z (81.5)
	// 40 S> EVENT subscription=18 DBR_TIME_DOUBLE[1] MINOR/HIGH 2024-05-06T07:08:09.5Z (81.5)
}

// A server answers a datagram that searches for two names.
func ExampleNextDatagram() {
	var datagram []byte
	version := cawire.DatagramVersion{Minor: cawire.MinorCurrent, HasSequence: true, Sequence: 42}
	datagram, _ = version.Append(datagram, cawire.MinorCurrent)
	for cid, name := range []string{"OVEN:Temperature", "NO:SUCH:NAME"} {
		search := cawire.SearchRequest{
			Reply: cawire.DontReply, Minor: cawire.MinorCurrent, CID: uint32(cid), Name: []byte(name),
		}
		datagram, _ = search.Append(datagram, cawire.MinorCurrent)
	}

	var version2 cawire.DatagramVersion
	var state cawire.DatagramState
	var reply []byte
	for len(datagram) > 0 {
		frame, n, err := cawire.NextDatagram(datagram)
		if err != nil {
			break // whatever it was, it is over
		}
		datagram = datagram[n:]
		kind, err := cawire.KindOf(frame, cawire.Client, cawire.OnDatagram)
		if err != nil {
			break
		}
		var ok bool
		if state, ok = state.Next(cawire.Server, cawire.Client, kind); !ok {
			break
		}
		switch kind {
		case cawire.KindDatagramVersion:
			if version2.Decode(frame) == nil {
				reply, _ = version2.Append(reply, version2.Minor) // repeats the sequence number
			}
		case cawire.KindSearchRequest:
			var search cawire.SearchRequest
			if search.Decode(frame) != nil || string(search.Name) != "OVEN:Temperature" {
				continue // silence is the answer
			}
			found := cawire.SearchReply{Port: 5064, CID: search.CID, HasMinor: true, Minor: cawire.MinorCurrent}
			reply, _ = found.Append(reply, version2.Minor)
		}
	}
	for len(reply) > 0 {
		frame, n, _ := cawire.NextDatagram(reply)
		fmt.Println(cawire.Trace(frame, cawire.Server, cawire.OnDatagram))
		reply = reply[n:]
	}
	// Output:
	// S> VERSION minor=4.13 sequence=42
	// S> SEARCH reply cid=0 port=5064 minor=4.13
}

// A circuit refuses what the protocol does not allow, and says whose fault it is.
func ExampleCircuit() {
	circuit := cawire.NewCircuit(cawire.Server)
	for _, m := range []cawire.Message{
		&cawire.Version{Minor: 13},
		&cawire.ReadNotifyRequest{Type: cawire.DBRDouble, Count: 1, SID: 5, IOID: 1},
	} {
		if err := circuit.Received(m); err != nil {
			fmt.Println(err)
		}
	}
	var fault *cawire.ProtocolError
	err := circuit.Sent(&cawire.Event{SubscriptionID: 9, Status: cawire.ECANormal})
	if errors.As(err, &fault) {
		fmt.Println("our own fault:", fault.Local)
	}
	// Output:
	// cawire: remote protocol error: client must not send READ_NOTIFY: there is no such channel
	// our own fault: true
}
