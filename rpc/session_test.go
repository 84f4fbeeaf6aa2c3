package rpc

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"google.golang.org/grpc"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// A talk is one session of a client.
type talk struct {
	*scene
	stream grpc.BidiStreamingClient[pb.SessionRequest, pb.SessionResponse]
}

func (s *scene) session() *talk {
	s.Helper()
	st, err := s.client.Session(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	x := &talk{s, st}
	if a := x.next(); a.GetId() != 0 || a.GetResponse() != nil {
		s.Errorf("a session begins with %v, want the empty answer", a)
	}
	return x
}

func (x *talk) next() *pb.SessionResponse {
	x.Helper()
	a, err := x.stream.Recv()
	if err != nil {
		x.Fatal(err)
	}
	return a
}

// until receives until an answer fits.
func (x *talk) until(fits func(*pb.SessionResponse) bool) *pb.SessionResponse {
	x.Helper()
	for {
		if a := x.next(); fits(a) {
			return a
		}
	}
}

// answer receives until there is an answer to a request.
func (x *talk) answer(id uint64) *pb.SessionResponse {
	x.Helper()
	return x.until(func(a *pb.SessionResponse) bool { return a.GetId() == id })
}

func (x *talk) send(r *pb.SessionRequest) {
	x.Helper()
	if err := x.stream.Send(r); err != nil {
		x.Fatal(err)
	}
}

func watchOf(id uint64, match ...string) *pb.SessionRequest {
	return &pb.SessionRequest{Id: id, Request: &pb.SessionRequest_Watch{Watch: &pb.WatchRequest{Match: match}}}
}

func unwatchOf(id uint64) *pb.SessionRequest {
	return &pb.SessionRequest{Id: id, Request: &pb.SessionRequest_Unwatch{Unwatch: &pb.UnwatchRequest{}}}
}

func putOf(id uint64, path, text string) *pb.SessionRequest {
	return &pb.SessionRequest{Id: id, Request: &pb.SessionRequest_Put{Put: &pb.PutRequest{Path: path, Input: &pb.PutRequest_Text{Text: text}}}}
}

func getOf(id uint64, path string) *pb.SessionRequest {
	return &pb.SessionRequest{Id: id, Request: &pb.SessionRequest_Get{Get: &pb.GetRequest{Paths: []string{path}}}}
}

func (x *talk) wantError(a *pb.SessionResponse, kind gateway.ErrorKind) {
	x.Helper()
	if e := a.GetError(); gateway.ErrorKind(e.GetKind()) != kind || e == nil {
		x.Errorf("got %v, want an error of the kind %v", a, kind)
	}
}

// A put that takes long does not hold up what is asked behind it, on whatever device.
func TestWEB17VerdictsComeAsTheyCome(t *testing.T) {
	s := newScene(t)
	held := make(chan *gateway.Put, 1)
	s.Rig.OnPut(func(d *hubtest.Device, p *gateway.Put) {
		if p.Path == "rig.target" {
			held <- p
			return
		}
		hubtest.Comply(d, p)
	})
	x := s.session()
	x.send(putOf(1, "rig.target", "5"))
	x.send(putOf(2, "rig.count", "6"))
	if a := x.next(); a.GetId() != 2 || a.GetPut().GetVerdict().GetReadback().GetValue().GetInt32Value() != 6 {
		t.Errorf("the put behind got %v", a)
	}
	for i := range 10 {
		x.send(getOf(uint64(10+i), "rig.count"))
		if a := x.next(); a.GetId() != uint64(10+i) || len(a.GetGet().GetAttributes()) != 1 {
			t.Errorf("a get behind got %v", a)
		}
	}
	hubtest.Comply(s.Rig, <-held)
	if a := x.next(); a.GetId() != 1 || a.GetPut().GetVerdict().GetStage() != pb.Stage_STAGE_VERIFIED {
		t.Errorf("the first put got %v", a)
	}
}

// A request that fails is answered, and the session goes on.
func TestErrorsDoNotEndASession(t *testing.T) {
	s := newScene(t)
	x := s.session()
	for i, c := range []struct {
		r    *pb.SessionRequest
		kind gateway.ErrorKind
	}{
		{&pb.SessionRequest{}, gateway.KindMalformed},
		{unwatchOf(0), gateway.KindNotFound},
		{putOf(0, "rig.nosuch", "1"), gateway.KindNotFound},
		{putOf(0, "rig.level", "1"), gateway.KindReadOnly},
		{putOf(0, "rig.target", "hot"), gateway.KindWrongType},
		{getOf(0, "rig.nosuch"), gateway.KindNotFound},
		{watchOf(0, "rig..level"), gateway.KindMalformed},
		{&pb.SessionRequest{Request: &pb.SessionRequest_Execute{Execute: &pb.ExecuteRequest{Path: "rig.level"}}}, gateway.KindNotFound},
		{&pb.SessionRequest{Request: &pb.SessionRequest_Refresh{Refresh: &pb.RefreshRequest{Path: "rig.reset"}}}, gateway.KindWriteOnly},
		{&pb.SessionRequest{Request: &pb.SessionRequest_Describe{Describe: &pb.DescribeRequest{Match: "."}}}, gateway.KindMalformed},
	} {
		c.r.Id = uint64(i + 1)
		x.send(c.r)
		x.wantError(x.answer(c.r.GetId()), c.kind)
	}
	x.send(&pb.SessionRequest{Id: 99, Request: &pb.SessionRequest_Execute{Execute: &pb.ExecuteRequest{Path: "rig.reset"}}})
	if a := x.answer(99); a.GetExecute() == nil {
		t.Errorf("the command got %v", a)
	}
	x.send(&pb.SessionRequest{Id: 100, Request: &pb.SessionRequest_Refresh{Refresh: &pb.RefreshRequest{Path: "rig.level"}}})
	if a := x.answer(100); a.GetRefresh() == nil {
		t.Errorf("the refresh got %v", a)
	}
}

func TestAWatchKeepsItsIDUntilItEnds(t *testing.T) {
	s := newScene(t)
	x := s.session()
	hasSynced := func(a *pb.SessionResponse) bool {
		return count(a.GetWatch().GetEvents(), pb.EventType_EVENT_TYPE_SYNCED, "") > 0
	}
	x.send(watchOf(1, "rig.level"))
	x.until(hasSynced)
	x.send(watchOf(1, "rig.count"))
	x.wantError(x.answer(1), gateway.KindMalformed)
	x.send(watchOf(2, "rig.*", "rig.level"))
	if a := x.until(hasSynced); a.GetId() != 2 {
		t.Errorf("synced %v", a)
	}
	s.Rig.Set("rig.level", gateway.Of(1.0))
	seen := map[uint64]bool{}
	for len(seen) < 2 {
		a := x.next()
		for _, e := range a.GetWatch().GetEvents() {
			if floatSample("rig.level", 1)(e) {
				seen[a.GetId()] = true
			}
		}
	}

	x.send(unwatchOf(1))
	if a := x.next(); a.GetId() != 1 || a.GetUnwatch() == nil {
		t.Errorf("the end of a watch is answered with %v", a)
	}
	s.Rig.Set("rig.level", gateway.Of(2.0))
	if a := x.next(); a.GetId() != 2 {
		t.Errorf("after the end of watch 1 came %v", a)
	}
	x.send(watchOf(1, "rig.level"))
	if a := x.until(hasSynced); a.GetId() != 1 {
		t.Errorf("an id that is free again got %v", a)
	}
}

// A client that has closed its side gets all that is left to answer.
func TestAClosedSessionIsAnsweredToItsEnd(t *testing.T) {
	s := newScene(t)
	x := s.session()
	const n = 20
	for i := range n {
		x.send(putOf(uint64(i+1), "rig.count", fmt.Sprint(i)))
	}
	if err := x.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	verdicts := 0
	for {
		a, err := x.stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if a.GetPut() != nil {
			verdicts++
		}
	}
	if verdicts != n {
		t.Errorf("%d of %d puts got a verdict", verdicts, n)
	}

	x = s.session()
	x.send(watchOf(1, "rig.level"))
	if err := x.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	x.answer(1)
	s.Rig.Set("rig.level", gateway.Of(7.0))
	x.until(func(a *pb.SessionResponse) bool {
		return count(a.GetWatch().GetEvents(), pb.EventType_EVENT_TYPE_SAMPLE, "rig.level") > 0
	})
}

func TestPutsOfASessionAreBounded(t *testing.T) {
	s := newScene(t)
	held := make(chan *gateway.Put, maxPuts+1)
	s.Rig.OnPut(func(_ *hubtest.Device, p *gateway.Put) { held <- p })
	x := s.session()
	for i := range maxPuts + 1 {
		x.send(putOf(uint64(i+1), "rig.target", "1"))
	}
	a := x.next()
	x.wantError(a, gateway.KindBusy)
	if a.GetId() != maxPuts+1 {
		t.Errorf("put %d is refused", a.GetId())
	}
	for range maxPuts {
		hubtest.Comply(s.Rig, <-held)
	}
	for range maxPuts {
		if a := x.next(); a.GetPut() == nil {
			t.Errorf("got %v", a)
		}
	}
}
