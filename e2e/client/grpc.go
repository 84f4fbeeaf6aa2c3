package client

import (
	"context"
	"errors"
	"io"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/polygate/gateway/proto/polygate/v1"
)

func dialGRPC(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

func watchGRPC(ctx context.Context, address string, names []string, each func(Event)) error {
	conn, err := dialGRPC(address)
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := pb.NewGatewayServiceClient(conn).Watch(ctx, &pb.WatchRequest{Match: names})
	if err != nil {
		return err
	}
	for up := false; ; {
		batch, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return errEnded
		}
		if err != nil {
			return err
		}
		at := now()
		if !up {
			up = true
			each(Event{At: at, Kind: Up})
		}
		for _, e := range batch.GetEvents() {
			grpcEvent(at, e, each)
		}
	}
}

func grpcEvent(at int64, e *pb.Event, each func(Event)) {
	switch e.GetType() {
	case pb.EventType_EVENT_TYPE_SYNCED:
		each(Event{At: at, Kind: Synced})
	case pb.EventType_EVENT_TYPE_SAMPLE:
		role := "readback"
		if e.GetRole() == pb.Role_ROLE_SETPOINT {
			role = "setpoint"
		}
		shown := grpcSample(at, e.GetPath(), role, e.GetSample())
		shown.Lost = uint64(e.GetLost())
		each(shown)
	case pb.EventType_EVENT_TYPE_ADDED, pb.EventType_EVENT_TYPE_AVAILABILITY:
		if s := e.GetAttribute().GetReadback(); s != nil {
			each(grpcSample(at, e.GetPath(), "readback", s))
		}
		if s := e.GetAttribute().GetSetpoint(); s != nil {
			each(grpcSample(at, e.GetPath(), "setpoint", s))
		}
	}
}

func grpcSample(at int64, name, role string, s *pb.Sample) Event {
	shown := Event{
		At: at, Kind: Shown, Name: name, Role: role, Time: s.GetTimeNs(), Seq: s.GetSeq(),
		Severity: strings.TrimPrefix(s.GetAlarm().GetSeverity().String(), "SEVERITY_"),
		Status:   strings.TrimPrefix(s.GetAlarm().GetStatus().String(), "STATUS_"),
	}
	var value float64
	switch v := s.GetValue().GetValue().(type) {
	case *pb.Value_Int64Value:
		value = float64(v.Int64Value)
	case *pb.Value_Float64Value:
		value = v.Float64Value
	default:
		return shown
	}
	shown.Value = &value
	return shown
}

type grpcPutter struct {
	conn   *grpc.ClientConn
	client pb.GatewayServiceClient
}

func dialGRPCPutter(address string) (*grpcPutter, error) {
	conn, err := dialGRPC(address)
	if err != nil {
		return nil, err
	}
	return &grpcPutter{conn, pb.NewGatewayServiceClient(conn)}, nil
}

func (p *grpcPutter) Close() { _ = p.conn.Close() }

func (p *grpcPutter) Put(ctx context.Context, name string, value int64) (Verdict, error) {
	response, err := p.client.Put(ctx, &pb.PutRequest{Path: name, Input: &pb.PutRequest_Value{
		Value: &pb.Value{Value: &pb.Value_Int64Value{Int64Value: value}},
	}})
	if err == nil {
		return Verdict{Stage: strings.ToLower(strings.TrimPrefix(response.GetVerdict().GetStage().String(), "STAGE_"))}, nil
	}
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return Verdict{Stage: info.GetMetadata()["stage"], Code: info.GetReason(), Words: status.Convert(err).Message()}, nil
		}
	}
	if code := status.Code(err); code != codes.Unavailable && code != codes.Canceled && code != codes.DeadlineExceeded {
		return Verdict{Code: code.String(), Words: err.Error()}, nil
	}
	return Verdict{}, err // it did not come from the gateway
}
