package rpc

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"github.com/polygate/gateway"
)

// domain is that of all reasons, as google.rpc.ErrorInfo asks for.
const domain = "polygate"

// A failure is an error together with what it is about.
type failure struct {
	err   *gateway.Error
	path  string // of the attribute, or empty
	field string // of the request, if it is to blame; or empty
}

// Error returns what the error itself says.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the error itself, so that errors.As finds it.
func (f *failure) Unwrap() error { return f.err }

// about says which attribute an error is about. It returns nil for nil.
func about(path string, err error) error {
	if err == nil {
		return nil
	}
	f := failureOf(err)
	if f.path == "" {
		f.path = gateway.Quotable(path)
	}
	return f
}

// blame says which field of the request is wrong. It returns nil for nil.
func blame(field string, err error) error {
	if err == nil {
		return nil
	}
	f := failureOf(err)
	if f.field == "" {
		f.field = field
	}
	return f
}

func failureOf(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return &failure{err: gateway.AsError(err)}
}

// refused adds what a conversion does not know: which attribute, and that
// nothing was sent.
func refused(path gateway.Path, err error) error {
	return about(string(path), &gateway.Error{
		Kind: gateway.KindOf(err), Stage: gateway.StageRefused,
		Msg: string(path) + ": " + err.Error(), Err: err,
	})
}

func malformed(field, format string, args ...any) error {
	return blame(field, gateway.Errorf(gateway.KindMalformed, format, args...))
}

var errStopping = &gateway.Error{Kind: gateway.KindShuttingDown, Msg: "the gateway is stopping"}

// codeOf is the table of ARCHITECTURE.md.
func codeOf(kind gateway.ErrorKind) codes.Code {
	switch kind {
	case gateway.KindOK:
		return codes.OK
	case gateway.KindNotFound:
		return codes.NotFound
	case gateway.KindReadOnly, gateway.KindWriteOnly, gateway.KindConflict, gateway.KindSuperseded, gateway.KindRefusedByDevice:
		return codes.FailedPrecondition
	case gateway.KindMalformed, gateway.KindTooLarge, gateway.KindWrongType, gateway.KindOutOfRange, gateway.KindNotALabel:
		return codes.InvalidArgument
	case gateway.KindUnauthenticated:
		return codes.Unauthenticated
	case gateway.KindDenied:
		return codes.PermissionDenied
	case gateway.KindBusy:
		return codes.ResourceExhausted
	case gateway.KindNotConnected, gateway.KindBusDown, gateway.KindShuttingDown, gateway.KindExpired:
		return codes.Unavailable
	case gateway.KindUnknownOutcome:
		return codes.DeadlineExceeded
	default:
		return codes.Internal
	}
}

// statusOf turns an error into what travels. What gRPC itself found wrong stays
// as it is.
func statusOf(err error) error {
	if err == nil {
		return nil
	}
	var ours *gateway.Error
	if !errors.As(err, &ours) {
		if _, ok := status.FromError(err); ok {
			return err
		}
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return status.FromContextError(err).Err()
		}
	}
	f := failureOf(err)
	info := &errdetails.ErrorInfo{Reason: f.err.Kind.String(), Domain: domain, Metadata: map[string]string{}}
	for key, value := range map[string]string{
		"name": f.path, "stage": f.err.Stage.String(), "device_words": bounded(f.err.DeviceWords),
	} {
		if value != "" {
			info.Metadata[key] = value
		}
	}
	details := []protoadapt.MessageV1{info}
	code, msg := codeOf(f.err.Kind), bounded(f.Error())
	if code == codes.InvalidArgument && f.field != "" {
		details = append(details, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{
			Field: f.field, Description: msg,
		}}})
	}
	st := status.New(code, msg)
	if detailed, err := st.WithDetails(details...); err == nil {
		st = detailed
	}
	return st.Err()
}

// bounded makes a text fit into headers and valid for protobuf.
func bounded(text string) string {
	if len(text) > maxWords {
		text = text[:maxWords] + "..."
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
