package rpc

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
	"github.com/polygate/gateway/internal/frontendtest"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// FuzzRequest handles whatever protobuf reads as a request. A session takes all
// that there is.
func FuzzRequest(f *testing.F) {
	for _, r := range []*pb.SessionRequest{
		watchOf(1, "rig.*", "marker.>"), unwatchOf(1), putOf(2, "rig.target", "5"), getOf(3, "rig.level"),
		{Request: &pb.SessionRequest_Put{Put: put("rig.mode", &pb.Value{Value: &pb.Value_EnumIndex{EnumIndex: 1}})}},
		{Request: &pb.SessionRequest_Refresh{Refresh: &pb.RefreshRequest{Path: "rig.level"}}},
		{Request: &pb.SessionRequest_Execute{Execute: &pb.ExecuteRequest{Path: "rig.reset", Input: &pb.ExecuteRequest_Json{Json: "1"}}}},
		{Request: &pb.SessionRequest_Describe{Describe: &pb.DescribeRequest{Match: "rig.>", PageSize: 2, PageToken: "rig.level"}}},
		{Request: &pb.SessionRequest_Watch{Watch: &pb.WatchRequest{Cursor: "1-1", MaxRate: 0.5, Mask: 15, Role: 1}}},
	} {
		b, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	w := frontendtest.NewScripted(f)
	w.Rig.OnPut(hubtest.Comply)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &pb.SessionRequest{}
		if proto.Unmarshal(b, r) != nil {
			return
		}
		view := w.View.For(gateway.Caller{Protocol: protocol})
		queue := view.Open(gateway.StreamOptions{})
		defer queue.Close()
		x := &session{
			view: view, queue: queue, answers: make(chan *pb.SessionResponse, 1), slots: make(chan struct{}, 1),
			watches: map[uint64]*selection{}, parts: map[gateway.WatchID]part{},
		}
		defer x.puts.Wait()
		a, err := x.handle(t.Context(), r)
		if err != nil {
			a = failed(err)
			if statusOf(err) == nil {
				t.Errorf("%v became no error", err)
			}
		}
		if _, err := proto.Marshal(a); err != nil {
			t.Errorf("the answer to %v cannot be sent: %v", r, err)
		}
	})
}
