package serial

import "github.com/polygate/gateway"

// inState asks a toggle for its state. The put is done if that is the wanted one,
// and cannot be done if it is not known.
func (t *talk) inState(p *putting) (done bool, err error) {
	readings, err := t.query(p.item.exchange, nil)
	if err != nil {
		return false, err
	}
	p.outcome.Readings = readings
	for i := range readings {
		r := &readings[i]
		switch {
		case r.Index != p.index:
		case r.Failed():
			p.fail(gateway.KindNotConnected, "nothing was sent, since it is not known which state it is in: %s", r.Alarm.Text)
			return true, nil
		case r.Value.Equal(p.value):
			p.outcome.Stage = gateway.StageVerified
			return true, nil
		}
	}
	return false, nil
}

// other is the state that a toggle changes to.
func other(v gateway.Value) gateway.Value {
	if v.Kind() == gateway.Enum {
		return gateway.EnumOf(1 - v.Index())
	}
	return gateway.Of(!v.Bool())
}
