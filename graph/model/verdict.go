package model

import "github.com/polygate/gateway"

// Verdict shows how a put ended.
type Verdict struct {
	Name               string
	Stage              *Stage
	Error              *PutError
	Setpoint, Readback *Sample
	Result             *Value
}

// VerdictOf shows the verdict of a put to an attribute or command.
func VerdictOf(a *gateway.Attribute, v *gateway.Verdict) *Verdict {
	after := *a
	after.Readback, after.Setpoint = v.Readback, v.Setpoint
	out := &Verdict{
		Name: string(a.Path), Stage: stageOf(v.Stage),
		Setpoint: SampleOf(&after, gateway.Setpoint), Readback: SampleOf(&after, gateway.Readback),
	}
	if a.Result != nil {
		out.Result = NewValue(a.Result, v.Result)
	}
	if v.Err != nil {
		out.Error = errorOf(v.Err)
	}
	return out
}

// Refusal shows a put that was not accepted.
func Refusal(name string, err error) *Verdict {
	e := gateway.AsError(err)
	return &Verdict{Name: name, Stage: stageOf(e.Stage), Error: errorOf(e)}
}

// PutError shows why a put failed.
type PutError struct {
	Code, Message string
	DeviceWords   *string
}

func errorOf(e *gateway.Error) *PutError {
	return &PutError{Code: e.Kind.String(), Message: e.Error(), DeviceWords: textOrNil(e.DeviceWords)}
}
