package cawire

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestStateTables pins every move that is allowed, in words.
func TestStateTables(t *testing.T) {
	var out strings.Builder
	listMoves(&out, "circuit", CircuitNew, CircuitClosed, CircuitState.Next)
	listMoves(&out, "channel", ChannelNone, ChannelClosed, ChannelState.Next)
	listMoves(&out, "subscription", SubscriptionNone, SubscriptionClosed, SubscriptionState.Next)
	listMoves(&out, "datagram", DatagramStart, DatagramVersioned, DatagramState.Next)
	golden(t, "testdata/states.txt", []byte(out.String()))
}

func listMoves[S interface {
	~uint8
	fmt.Stringer
}](out *strings.Builder, what string, first, last S, next func(S, Side, Side, Kind) (S, bool),
) {
	for s := first; s <= last; s++ {
		for _, role := range []Side{Client, Server} {
			for _, from := range []Side{Client, Server} {
				moves := map[S][]string{}
				for k := KindNone; k < numKinds; k++ {
					if to, ok := next(s, role, from, k); ok {
						moves[to] = append(moves[to], k.String())
					}
				}
				for to := first; to <= last; to++ {
					if len(moves[to]) > 0 {
						fmt.Fprintf(out, "%s: %v, as %v: %v sends %s -> %v\n",
							what, s, role, from, strings.Join(moves[to], ", "), to)
					}
				}
			}
		}
	}
}

// TestTablesNameNoImpossibleSender checks the tables against who may send what.
func TestTablesNameNoImpossibleSender(t *testing.T) {
	check := func(table string, from Side, kinds kindSet, on Transport) {
		for k := KindNone + 1; k < numKinds; k++ {
			if kinds.has(k) && (!k.SentBy(from) || !k.On(on)) {
				t.Errorf("%s: %v from %v", table, k, from)
			}
		}
	}
	for _, r := range circuitRules {
		check("circuit", r.from, r.kinds, OnCircuit)
	}
	for _, r := range channelRules {
		check("channel", r.from, r.kinds, OnCircuit)
	}
	for _, r := range subscriptionRules {
		check("subscription", r.from, r.kinds, OnCircuit)
	}
	for _, r := range datagramRules {
		check("datagram", r.from, r.kinds, OnDatagram)
	}
	for k := KindNone + 1; k < numKinds; k++ {
		var ok bool
		for _, from := range []Side{Client, Server} {
			_, circuit := CircuitOpen.Next(Client, from, k)
			_, start := DatagramStart.Next(Client, from, k)
			_, versioned := DatagramVersioned.Next(Client, from, k)
			ok = ok || circuit || start || versioned
		}
		if !ok {
			t.Errorf("%v is allowed nowhere", k)
		}
	}
}

// step is one message of a scripted conversation.
type step struct {
	from Side
	m    Message
	bad  bool // it must be refused
}

var (
	hello = []step{
		{Server, &Version{Minor: 13}, false},
		{Client, &Version{Minor: 13}, false},
		{Client, &ClientName{Name: []byte("u")}, false},
	}
	opened = append(hello[:len(hello):len(hello)],
		step{Client, &CreateChanRequest{CID: 1, Minor: 13, Name: []byte("a")}, false},
		step{Server, &AccessRights{CID: 1, Rights: MayRead}, false},
		step{Server, &CreateChanReply{CID: 1, SID: 100, Type: DBRDouble, Count: 1}, false})
	subscribed = append(opened[:len(opened):len(opened)],
		step{Client, &EventAdd{SID: 100, SubscriptionID: 7}, false},
		step{Server, &Event{SubscriptionID: 7, Status: ECANormal}, false})
)

func after(start []step, more ...step) []step { return append(start[:len(start):len(start)], more...) }

func TestConversations(t *testing.T) {
	cancel := &EventCancel{SID: 100, SubscriptionID: 7}
	cancelled := &EventCancelReply{SID: 100, SubscriptionID: 7}
	event := &Event{SubscriptionID: 7, Status: ECANormal}
	clearIt, cleared := &ClearRequest{SID: 100, CID: 1}, &ClearReply{SID: 100, CID: 1}
	create := &CreateChanRequest{CID: 1, Minor: 13, Name: []byte("a")}
	created := &CreateChanReply{CID: 1, SID: 100}
	for name, steps := range map[string][]step{
		"client speaks before its version": {{Client, &Echo{}, true}, {Client, create, true}},
		"nobody searches before a version": {{Client, &SearchRequest{Name: []byte("a")}, true}},
		"server refuses an old client":     {{Server, &ErrorReply{Status: ECADefunct}, false}},
		"echo both ways":                   after(hello, step{Client, &Echo{}, false}, step{Server, &Echo{}, false}),
		"search on a circuit": after(hello, step{Client, &SearchRequest{Name: []byte("a")}, false},
			step{Server, &SearchReply{}, false}, step{Server, &NotFound{}, false}),
		"datagram messages on a circuit": after(hello, step{Server, &Beacon{}, true}, step{Client, &RepeaterRegister{}, true}),
		"reply to a channel never asked for": after(hello, step{Server, created, true},
			step{Server, &CreateChFail{CID: 1}, true}),
		"channel created twice":          after(opened, step{Client, create, true}),
		"channel answered twice":         after(opened, step{Server, created, true}),
		"sid used twice":                 after(opened, step{Client, &CreateChanRequest{CID: 2, Name: []byte("b")}, false}, step{Server, &CreateChanReply{CID: 2, SID: 100}, true}),
		"creation fails, and again":      after(hello, step{Client, create, false}, step{Server, &CreateChFail{CID: 1}, false}, step{Client, create, false}, step{Server, created, false}),
		"requests for an unknown sid":    after(opened, step{Client, &ReadNotifyRequest{SID: 5}, true}, step{Client, &WriteRequest{SID: 5}, true}, step{Client, &EventAdd{SID: 5}, true}, step{Client, &ClearRequest{SID: 5, CID: 1}, true}),
		"cid and sid do not match":       after(opened, step{Client, &ClearRequest{SID: 100, CID: 2}, true}),
		"answer without a question":      after(opened, step{Server, &ReadNotifyReply{IOID: 3}, true}, step{Server, &WriteNotifyReply{IOID: 3}, true}, step{Server, &ReadReply{IOID: 3}, true}),
		"one question, two answers":      after(opened, step{Client, &ReadNotifyRequest{SID: 100, IOID: 3}, false}, step{Server, &ReadNotifyReply{IOID: 3}, false}, step{Server, &ReadNotifyReply{IOID: 3}, true}),
		"answer of another kind":         after(opened, step{Client, &WriteNotifyRequest{SID: 100, IOID: 3}, false}, step{Server, &ReadNotifyReply{IOID: 3}, true}, step{Server, &WriteNotifyReply{IOID: 3}, false}),
		"read fails by error":            after(opened, step{Client, &ReadRequest{SID: 100, IOID: 3}, false}, step{Server, &ErrorReply{Request: Header{Command: CmdRead, Param2: 3}}, false}, step{Server, &ReadReply{IOID: 3}, true}),
		"write is not answered":          after(opened, step{Client, &WriteRequest{SID: 100, IOID: 1}, false}, step{Server, &WriteNotifyReply{IOID: 1}, true}),
		"event without subscription":     after(opened, step{Server, event, true}),
		"subscription id used twice":     after(subscribed, step{Client, &EventAdd{SID: 100, SubscriptionID: 7}, true}),
		"CA-44 events until the reply":   after(subscribed, step{Client, cancel, false}, step{Server, event, false}, step{Server, cancelled, false}),
		"CA-44 no event after the reply": after(subscribed, step{Client, cancel, false}, step{Server, cancelled, false}, step{Server, event, true}),
		"CA-44 cancelled twice":          after(subscribed, step{Client, cancel, false}, step{Client, cancel, true}, step{Server, cancelled, false}, step{Client, cancel, true}),
		"CA-44 unknown subscription":     after(subscribed, step{Client, &EventCancel{SID: 100, SubscriptionID: 999}, true}),
		"event of no elements":           after(subscribed, step{Server, cancelled, false}, step{Server, event, false}),
		"subscribed again by the id":     after(subscribed, step{Client, cancel, false}, step{Server, cancelled, false}, step{Client, &EventAdd{SID: 100, SubscriptionID: 7}, false}, step{Server, event, false}),
		"clear ends everything":          after(subscribed, step{Client, clearIt, false}, step{Server, event, false}, step{Server, cleared, false}, step{Server, event, true}, step{Client, clearIt, true}, step{Client, create, false}),
		"requests while clearing":        after(subscribed, step{Client, clearIt, false}, step{Client, &ReadNotifyRequest{SID: 100}, true}, step{Client, cancel, true}),
		"server closes a channel":        after(subscribed, step{Server, &ServerDisconn{CID: 1}, false}, step{Server, event, true}, step{Client, create, false}, step{Server, &CreateChanReply{CID: 1, SID: 101}, false}, step{Server, &ServerDisconn{CID: 9}, true}),
	} {
		t.Run(name, func(t *testing.T) {
			for _, role := range []Side{Client, Server} {
				c := NewCircuit(role)
				for i, s := range steps {
					err := send(c, role, s)
					var fault *ProtocolError
					switch {
					case !s.bad && err != nil:
						t.Errorf("step %d as %v: %v", i, role, err)
					case s.bad && !errors.As(err, &fault):
						t.Errorf("step %d as %v: %v is allowed", i, role, s.m.Kind())
					case s.bad && (fault.Fault != s.from || fault.Local != (s.from == role) || fault.Kind != s.m.Kind()):
						t.Errorf("step %d as %v: %+v", i, role, fault)
					}
				}
			}
		})
	}
}

func send(c *Circuit, role Side, s step) error {
	if s.from == role {
		return c.Sent(s.m)
	}
	return c.Received(s.m)
}

func play(t *testing.T, role Side, steps []step) *Circuit {
	t.Helper()
	c := NewCircuit(role)
	for i, s := range steps {
		if err := send(c, role, s); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	return c
}

// What a client sent before it heard of SERVER_DISCONN is not its fault.
func TestServerTakesLateRequestsForAGoneChannel(t *testing.T) {
	c := play(t, Server, after(subscribed, step{Server, &ServerDisconn{CID: 1}, false}))
	for _, m := range []Message{
		&ReadNotifyRequest{SID: 100, IOID: 1}, &WriteRequest{SID: 100},
		&EventCancel{SID: 100, SubscriptionID: 7}, &EventAdd{SID: 100, SubscriptionID: 8},
		&ClearRequest{SID: 100, CID: 1},
	} {
		if err := c.Received(m); err != nil {
			t.Error(err)
		}
	}
	if c.Channel(1) != nil || c.ChannelBySID(100) != nil || c.Subscription(8) != nil {
		t.Error("the channel is still known")
	}
	if err := c.Received(&WriteRequest{SID: 100}); err == nil {
		t.Error("write after clear is allowed")
	}
}

// Base's server has threads that speak of a channel after its end.
func TestClientTakesLateWordsAboutAClosedChannel(t *testing.T) {
	c := play(t, Client, after(subscribed, step{Client, &ClearRequest{SID: 100, CID: 1}, false},
		step{Server, &ClearReply{SID: 100, CID: 1}, false}))
	if err := c.Received(&AccessRights{CID: 1}); err != nil {
		t.Error(err)
	}
	if err := c.Received(&EventCancelReply{SubscriptionID: 7}); err != nil {
		t.Error(err)
	}
	if err := c.Received(&ServerDisconn{CID: 1}); err == nil {
		t.Error("a channel is disconnected after its end")
	}
}

func TestCircuitKnowsWhatWasAgreed(t *testing.T) {
	c := play(t, Server, subscribed)
	ch, sub := c.Channel(1), c.Subscription(7)
	if ch == nil || ch != c.ChannelBySID(100) || ch.State != ChannelOpen || ch.Type != DBRDouble || ch.Rights != MayRead {
		t.Errorf("channel %+v", ch)
	}
	if sub == nil || sub.Channel != ch || sub.State != SubscriptionActive {
		t.Errorf("subscription %+v", sub)
	}
	if c.State() != CircuitOpen || c.Minor() != 13 {
		t.Errorf("%v, %v", c.State(), c.Minor())
	}
	if err := c.Received(&ReadNotifyRequest{SID: 100, IOID: 7}); err != nil {
		t.Error(err)
	}
	if c.Channels() != 1 || c.Subscriptions() != 1 || c.Pending() != 1 {
		t.Errorf("%d channels, %d subscriptions, %d pending", c.Channels(), c.Subscriptions(), c.Pending())
	}
	c.Close()
	if ch.State != ChannelClosed || sub.State != SubscriptionClosed || c.Channel(1) != nil || c.State() != CircuitClosed {
		t.Error("something is still open")
	}
	if err := c.Received(&Echo{}); err == nil {
		t.Error("a closed circuit takes messages")
	}
	for peer, want := range map[Minor]Minor{8: 8, 13: 13, 20: 13} {
		c := play(t, Server, []step{{Client, &Version{Minor: peer}, false}})
		if c.Minor() != want {
			t.Errorf("peer %v: %v", peer, c.Minor())
		}
	}
}

func TestRefusalChangesNothing(t *testing.T) {
	c := play(t, Server, opened)
	if err := c.Received(&ReadNotifyRequest{SID: 5, IOID: 1}); err == nil {
		t.Fatal("allowed")
	}
	if err := c.Sent(&ReadNotifyReply{IOID: 1}); err == nil {
		t.Error("the refused request can be answered")
	}
	err := c.Received(&EventCancel{SID: 100, SubscriptionID: 9})
	if want := "cawire: remote protocol error: client must not send EVENT_CANCEL: there is no such subscription"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestDatagrams(t *testing.T) {
	for _, c := range []struct {
		from  Side
		kinds []Kind
		bad   bool
	}{
		{Client, []Kind{KindDatagramVersion, KindSearchRequest, KindSearchRequest}, false},
		{Client, []Kind{KindSearchRequest}, true}, // CA-24: base ignores it
		{Server, []Kind{KindDatagramVersion, KindSearchReply}, false},
		{Server, []Kind{KindBeacon}, false},
		{Server, []Kind{KindDatagramVersion, KindNotFound}, true}, // CA-24: never by datagram
		{Client, []Kind{KindRepeaterRegister}, false},
		{Server, []Kind{KindRepeaterConfirm}, false},
		{Client, []Kind{KindBeacon}, true},
	} {
		var s DatagramState
		ok := true
		for _, k := range c.kinds {
			if ok {
				s, ok = s.Next(Server, c.from, k)
			}
		}
		if ok == c.bad {
			t.Errorf("%v from %v: allowed is %v", c.kinds, c.from, ok)
		}
	}
	// A client takes replies of servers before 4.11, which have no version.
	if _, ok := DatagramStart.Next(Client, Server, KindSearchReply); !ok {
		t.Error("reply without version")
	}
}

// The client creates a channel again with the cid that it had, and so has
// heard that the old one is gone: then nothing more comes for the old sid.
func TestServerForgetsAGoneChannelThatIsCreatedAgain(t *testing.T) {
	c := play(t, Server, after(subscribed, step{Server, &ServerDisconn{CID: 1}, false}))
	if c.ChannelBySID(100) == nil {
		t.Error("the old sid is forgotten too early")
	}
	if err := c.Received(&CreateChanRequest{CID: 1, Name: []byte("a")}); err != nil {
		t.Fatal(err)
	}
	if c.ChannelBySID(100) != nil || c.Channels() != 1 {
		t.Error("the old sid is still known")
	}
}
