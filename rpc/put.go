package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/polygate/gateway"
	wire "github.com/polygate/gateway/proto"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// Put implements pb.GatewayServiceServer.
func (s service) Put(ctx context.Context, r *pb.PutRequest) (*pb.PutResponse, error) {
	p, err := startPut(ctx, s.session(ctx), r)
	if err != nil {
		return nil, err
	}
	verdict, err := p.wait(ctx)
	return &pb.PutResponse{Verdict: verdict}, err
}

// Execute implements pb.GatewayServiceServer.
func (s service) Execute(ctx context.Context, r *pb.ExecuteRequest) (*pb.ExecuteResponse, error) {
	p, err := startExecute(ctx, s.session(ctx), r)
	if err != nil {
		return nil, err
	}
	verdict, err := p.wait(ctx)
	return &pb.ExecuteResponse{Verdict: verdict}, err
}

// Refresh implements pb.GatewayServiceServer.
func (s service) Refresh(ctx context.Context, r *pb.RefreshRequest) (*pb.RefreshResponse, error) {
	p, err := startRefresh(ctx, s.session(ctx), r)
	if err != nil {
		return nil, err
	}
	verdict, err := p.wait(ctx)
	return &pb.RefreshResponse{Verdict: verdict}, err
}

// input is what the requests have in common that go to a device.
type input interface {
	GetPath() string
	GetMode() pb.Mode
	GetUrgent() bool
	GetBudget() *durationpb.Duration
}

// A pending is a put on its way, with what it is about.
type pending struct {
	gateway.Pending
	attribute *gateway.Attribute
}

func startPut(ctx context.Context, session gateway.Session, r *pb.PutRequest) (*pending, error) {
	a, request, err := requestOf(ctx, session, r)
	if err != nil {
		return nil, err
	}
	if a.CanWrite() { // otherwise the hub has the better words
		var field string
		switch in := r.GetInput().(type) {
		case *pb.PutRequest_Value:
			field = "value"
			request.Value, err = convert(&a.Type, in.Value)
		case *pb.PutRequest_Text:
			field = "text"
			request.Value, err = a.Parse(in.Text)
		case *pb.PutRequest_Json:
			field = "json"
			request.Value, err = a.ParseJSON([]byte(in.Json))
		default:
			field = "value"
			err = gateway.Errorf(gateway.KindMalformed, "a put needs a value, text or json")
		}
		if err != nil {
			return nil, blame(field, refused(a.Path, err))
		}
	}
	p, err := session.Put(request)
	if err != nil {
		return nil, about(r.GetPath(), err)
	}
	return &pending{p, a}, nil
}

func startExecute(ctx context.Context, session gateway.Session, r *pb.ExecuteRequest) (*pending, error) {
	a, request, err := requestOf(ctx, session, r)
	if err != nil {
		return nil, err
	}
	argument := a.Argument
	if argument == nil {
		argument = &gateway.Type{}
	}
	field := ""
	switch in := r.GetInput().(type) {
	case nil:
	case *pb.ExecuteRequest_Value:
		field = "value"
		request.Value, err = convert(argument, in.Value)
	case *pb.ExecuteRequest_Text:
		field = "text"
		request.Value, err = argument.Parse(in.Text)
	case *pb.ExecuteRequest_Json:
		field = "json"
		request.Value, err = argument.ParseJSON([]byte(in.Json))
	}
	if field != "" && a.IsCommand() && a.Argument == nil {
		err = gateway.Errorf(gateway.KindWrongType, "the command takes no argument")
	}
	if err != nil && a.IsCommand() {
		return nil, blame(field, refused(a.Path, err))
	}
	p, err := session.Execute(request)
	if err != nil {
		return nil, about(r.GetPath(), err)
	}
	return &pending{p, a}, nil
}

func startRefresh(ctx context.Context, session gateway.Session, r *pb.RefreshRequest) (*pending, error) {
	a, request, err := requestOf(ctx, session, r)
	if err != nil {
		return nil, err
	}
	p, err := session.Refresh(request)
	if err != nil {
		return nil, about(r.GetPath(), err)
	}
	return &pending{p, a}, nil
}

// requestOf reads what is the same for puts, commands and refreshes.
func requestOf(ctx context.Context, session gateway.Session, in input) (*gateway.Attribute, gateway.PutRequest, error) {
	request := gateway.PutRequest{Path: gateway.Path(in.GetPath()), Urgent: in.GetUrgent()}
	a, err := session.Get(request.Path)
	if err != nil {
		return nil, request, about(in.GetPath(), gateway.Unsent(err))
	}
	switch in.GetMode() {
	case pb.Mode_MODE_EACH:
	case pb.Mode_MODE_LATEST:
		request.Mode = gateway.Latest
	default:
		return nil, request, blame("mode", refused(a.Path, gateway.Errorf(gateway.KindMalformed, "there is no mode %d", in.GetMode())))
	}
	if request.Budget, err = budgetOf(ctx, in.GetBudget()); err != nil {
		return nil, request, blame("budget", refused(a.Path, err))
	}
	return a, request, nil
}

// budgetOf is the time that the client gives, or has: after the deadline of
// its call nobody would hear the verdict. 0 is the hub's default.
func budgetOf(ctx context.Context, asked *durationpb.Duration) (time.Duration, error) {
	budget := asked.AsDuration()
	if asked != nil && (asked.CheckValid() != nil || budget <= 0 || budget > gateway.MaxBudget) {
		return 0, gateway.Errorf(gateway.KindMalformed, "a budget is more than 0 and at most %v", gateway.MaxBudget)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return budget, nil
	}
	left := min(time.Until(deadline), gateway.MaxBudget)
	if left <= 0 {
		return 0, gateway.Errorf(gateway.KindExpired, "the deadline of the call is over")
	}
	if asked == nil || left < budget {
		return left, nil
	}
	return budget, nil
}

// convert makes a value of a type from one in any other that can say it.
func convert(t *gateway.Type, v *pb.Value) (gateway.Value, error) {
	b, err := proto.Marshal(v)
	if err != nil {
		return gateway.Value{}, gateway.Errorf(gateway.KindMalformed, "reading the value: %w", err)
	}
	value, err := wire.DecodeValue(b)
	if err != nil {
		return gateway.Value{}, gateway.Errorf(gateway.KindMalformed, "reading the value: %w", err)
	}
	return t.Convert(value)
}

// wait waits for the verdict, which is an error if the put failed.
func (p *pending) wait(ctx context.Context) (*pb.Verdict, error) {
	verdict := gateway.Wait(ctx, p)
	if verdict.Err != nil {
		return nil, about(string(p.attribute.Path), verdict.Err)
	}
	b, err := wire.AppendVerdict(nil, p.attribute, &verdict)
	if err != nil {
		return nil, err
	}
	answer := &pb.PutResponse{} // of whose shape ExecuteResponse and RefreshResponse are
	if err := proto.Unmarshal(b, answer); err != nil {
		return nil, err
	}
	return answer.GetVerdict(), nil
}
