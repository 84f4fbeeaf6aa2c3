package model

import (
	"strings"

	"github.com/polygate/gateway"
)

// GraphQL spells enums in capitals; the words are the same on every protocol.

func roleOf(r gateway.Role) Role {
	if r == gateway.Setpoint {
		return RoleSetpoint
	}
	return RoleReadback
}

func kindOf(k gateway.Kind) Kind { return Kind(strings.ToUpper(k.String())) }

func stateOf(a gateway.Availability) State { return State(strings.ToUpper(a.String())) }

func eventTypeOf(t gateway.EventType) EventType { return EventType(strings.ToUpper(t.String())) }

func accessOf(a gateway.Access) Access {
	switch a {
	case gateway.AccessExecute:
		return AccessExecute
	case gateway.AccessReadWrite:
		return AccessReadWrite
	case gateway.AccessWrite:
		return AccessWrite
	default:
		return AccessRead
	}
}

func stageOf(s gateway.Stage) *Stage {
	if s == gateway.StageNone {
		return nil
	}
	stage := Stage(strings.ToUpper(s.String()))
	return &stage
}

var changes = [...]struct {
	mask gateway.Mask
	name Change
}{
	{gateway.MaskValue, ChangeValue},
	{gateway.MaskLog, ChangeLog},
	{gateway.MaskAlarm, ChangeAlarm},
	{gateway.MaskProperty, ChangeProperty},
}

func changesOf(m gateway.Mask) []Change {
	list := make([]Change, 0, len(changes))
	for _, c := range changes {
		if m&c.mask != 0 {
			list = append(list, c.name)
		}
	}
	return list
}

// MaskOf returns the changes as a mask; 0, which is the hub's own choice, for none.
func MaskOf(list []Change) gateway.Mask {
	var mask gateway.Mask
	for _, name := range list {
		for _, c := range changes {
			if c.name == name {
				mask |= c.mask
			}
		}
	}
	return mask
}

// RolesOf returns the roles as the hub takes them; both for none.
func RolesOf(list []Role) gateway.Role {
	var roles gateway.Role
	for _, r := range list {
		if r == RoleSetpoint {
			roles |= gateway.Setpoint
		} else {
			roles |= gateway.Readback
		}
	}
	if roles == 0 {
		return gateway.RoleBoth
	}
	return roles
}

// ModeOf returns the mode as the hub takes it.
func ModeOf(m Mode) gateway.Mode {
	if m == ModeLatest {
		return gateway.Latest
	}
	return gateway.Each
}
