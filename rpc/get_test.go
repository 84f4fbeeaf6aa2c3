package rpc

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// pages asks for all pages and returns the paths and how many pages there were.
func (s *scene) pages(r *pb.GetRequest) (paths []string, pages int) {
	s.Helper()
	for {
		a, err := s.client.Get(s.ctx, r)
		if err != nil {
			s.Fatal(err)
		}
		if size := proto.Size(a); size > 4<<20 {
			s.Errorf("a page has %d bytes", size)
		}
		for _, x := range a.GetAttributes() {
			paths = append(paths, x.GetPath())
		}
		pages++
		if r.PageToken = a.GetNextPageToken(); r.GetPageToken() == "" {
			return paths, pages
		}
	}
}

func TestPagesHoldEverythingOnce(t *testing.T) {
	s := newScene(t)
	all, _ := s.pages(&pb.GetRequest{})
	if !slices.IsSorted(all) || len(all) < 10 {
		t.Fatalf("there are %v", all)
	}
	if got, pages := s.pages(&pb.GetRequest{PageSize: 3}); !slices.Equal(got, all) || pages != (len(all)+2)/3 {
		t.Errorf("%d pages with %v, want %v", pages, got, all)
	}
	names := slices.Clone(all)
	slices.Reverse(names)
	if got, pages := s.pages(&pb.GetRequest{Paths: names, PageSize: 4}); !slices.Equal(got, names) || pages != (len(names)+3)/4 {
		t.Errorf("%d pages with %v, want %v", pages, got, names)
	}
	if got, pages := s.pages(&pb.GetRequest{Match: "nobody.>"}); len(got) != 0 || pages != 1 {
		t.Errorf("nobody has %v on %d pages", got, pages)
	}
}

// Answers stay below what clients take by default, however much there is.
func TestPagesAreBoundedInBytes(t *testing.T) {
	s := newScene(t)
	const n, length = 40, 20000
	var waves []*gateway.Descriptor
	for i := range n {
		waves = append(waves, &gateway.Descriptor{Path: gateway.Path(fmt.Sprintf("large.w%02d", i)), Traits: &gateway.Traits{Access: gateway.AccessRead, Type: gateway.Type{Kind: gateway.Float64, Shape: []int{length}}}})
	}
	d := hubtest.NewDevice(s.Line, "large", waves...)
	var names []string
	for _, w := range waves {
		d.Set(w.Path, gateway.ArrayOf(make([]float64, length)))
		names = append(names, string(w.Path))
	}
	s.Settle()
	for _, r := range []*pb.GetRequest{{Match: "large.*"}, {Paths: names}} {
		if got, pages := s.pages(r); !slices.Equal(got, names) || pages < 5 {
			t.Errorf("%d pages with %v", pages, got)
		}
	}
}

func TestDescribeTellsWhatThereIs(t *testing.T) {
	s := newScene(t)
	d, err := s.client.Describe(s.ctx, &pb.DescribeRequest{Match: "rig.mode"})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.GetDevices()) != 1 || d.GetDevices()[0].GetName() != "rig" || d.GetDevices()[0].GetAttributes() == 0 || d.GetDevices()[0].GetInstance() == "" {
		t.Errorf("the devices are %v", d.GetDevices())
	}
	got := d.GetDescriptors()
	if len(got) != 1 || got[0].GetAccess() != pb.Access_ACCESS_READ_WRITE || got[0].GetType().GetKind() != pb.Kind_KIND_ENUM || got[0].GetType().GetStates()[2].GetLabel() != "Fault" {
		t.Errorf("the descriptors are %v", got)
	}
	all, err := s.client.Describe(s.ctx, &pb.DescribeRequest{PageSize: 1})
	if err != nil || len(all.GetDevices()) != 2 || len(all.GetDescriptors()) != 1 {
		t.Errorf("the first page is %v: %v", all, err)
	}
	next, err := s.client.Describe(s.ctx, &pb.DescribeRequest{PageSize: 1, PageToken: all.GetNextPageToken()})
	if err != nil || len(next.GetDevices()) != 0 {
		t.Errorf("the devices come again: %v, %v", next, err)
	}
	r, err := s.client.Get(s.ctx, &pb.GetRequest{Paths: []string{"rig.level"}, Descriptors: true})
	if err != nil || r.GetAttributes()[0].GetDescriptor_().GetType().GetUnits() != "K" {
		t.Errorf("got %v: %v", r, err)
	}
}

// A put has the time that its client has, and says who asked.
func TestAPutCarriesBudgetAndCaller(t *testing.T) {
	s := newScene(t)
	ctx := metadata.AppendToOutgoingContext(s.ctx, "x-request-id", "run 7")
	deadline, _ := ctx.Deadline()
	budget := time.Until(deadline)
	r := put("rig.mode", &pb.Value{Value: &pb.Value_StringValue{StringValue: "On"}})
	r.Mode, r.Urgent = pb.Mode_MODE_LATEST, true
	a, err := s.client.Put(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	if v := a.GetVerdict(); v.GetStage() != pb.Stage_STAGE_VERIFIED || v.GetReadback().GetLabel() != "On" || v.GetReadback().GetValue().GetEnumIndex() != 1 {
		t.Errorf("the verdict is %v", v)
	}
	p := s.Rig.Puts()[0]
	if p.Mode != gateway.Latest || !p.Urgent || p.Caller.Protocol != "grpc" || p.Caller.Correlation != "run 7" || p.Caller.Peer == "" {
		t.Errorf("the device got %+v from %+v", p.PutRequest, p.Caller)
	}
	if p.Budget > budget || p.Budget < budget/2 {
		t.Errorf("of %v the driver has %v", budget, p.Budget)
	}
}

func TestARefreshReadsTheDevice(t *testing.T) {
	s := newScene(t)
	s.Rig.OnPut(func(d *hubtest.Device, p *gateway.Put) {
		d.Set(p.Path, gateway.Of(21.5))
		d.Finish(p, gateway.Verdict{Stage: gateway.StageVerified})
	})
	r, err := s.client.Refresh(s.ctx, &pb.RefreshRequest{Path: "rig.level", Mode: pb.Mode_MODE_LATEST, Urgent: true})
	if err != nil || r.GetVerdict().GetStage() != pb.Stage_STAGE_VERIFIED || r.GetVerdict().GetReadback().GetValue().GetFloat64Value() != 21.5 {
		t.Errorf("got %v, %v", r, err)
	}
	puts := s.Rig.Puts()
	if p := puts[len(puts)-1]; !p.Refresh || !p.Urgent || p.Mode != gateway.Latest || p.Path != "rig.level" {
		t.Errorf("the device got %+v", p)
	}
}
