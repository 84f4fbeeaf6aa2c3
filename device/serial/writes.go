package serial

import (
	"fmt"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/describe"
	"github.com/polygate/gateway/device/stream"
)

// write compiles the requests that set an attribute.
func (k *compiler) write(c *codec, a *Attribute, at describe.Place) *write {
	w := &write{codec: c, toggle: a.Toggle}
	w.steps = k.steps(a.Write, a.WriteReply, c, a, at.In("write"), at.In("write_reply"))
	w.cleanup = k.steps(a.Cleanup, nil, nil, &Attribute{}, at.In("cleanup"), at)
	taken := false
	for _, s := range w.steps {
		taken = taken || s.field != nil
	}
	switch {
	case taken && a.Toggle:
		at.In("toggle").Errorf("the write takes the value, so it does not toggle")
	case !taken && !a.Toggle && len(w.steps) == len(a.Write):
		at.In("write").Warnf("no request writes the value: a converter such as %%f is missing; or, if it changes from one state to the other, toggle: true")
	}
	return w
}

// toggle reports a toggle that has no two states, or whose state cannot be read.
func (k *compiler) toggle(a *Attribute, d *gateway.Descriptor, it *item, at describe.Place) {
	switch {
	case !a.Toggle || d.Kind == gateway.NoKind:
	case len(a.Write) == 0:
		at.Errorf("this is about write, which is not set")
	case d.IsArray(), d.Kind != gateway.Bool && (d.Kind != gateway.Enum || len(d.States) != 2):
		at.Errorf("only a bool, or an enum of two states, can be a toggle")
	case it.exchange == nil:
		at.Errorf("its state is read before it is written: it needs read and reply, or a place in a query that is read")
	}
}

// command compiles a command.
func (k *compiler) command(e *entry[Command]) {
	x, at := &e.what, e.at
	d := gateway.Descriptor{Description: x.Description, Traits: &gateway.Traits{Access: gateway.AccessExecute, Type: gateway.Type{Kind: gateway.Bool}}}
	path, err := gateway.ParsePath(k.device + "." + e.name)
	if err != nil {
		at.Errorf("%v", err)
	}
	d.Path = path
	if x.CA.Name != "" {
		d.Annotations = map[string]string{describe.AnnotationCAName: x.CA.Name}
	}
	w := &write{}
	if x.Argument != nil {
		t := x.Argument.Build(at.In("argument"))
		d.Argument = &t
		w.codec = k.codec(&Attribute{}, &t, at.In("argument"))
	}
	if len(x.Send) == 0 {
		at.In("send").Errorf("a command needs send: what is sent, such as send: \"STOP\"")
	}
	w.steps = k.steps(x.Send, x.SendReply, w.codec, &Attribute{}, at.In("send"), at.In("send_reply"))
	w.cleanup = k.steps(x.Cleanup, nil, nil, &Attribute{}, at.In("cleanup"), at)
	k.result(x, &d, w, at)
	k.add(d, e.name, item{write: w}, at)
}

// result compiles what a command returns.
func (k *compiler) result(x *Command, d *gateway.Descriptor, w *write, at describe.Place) {
	if x.Reply == "" {
		if x.Result != nil {
			at.In("result").Errorf("a result needs reply: the format that it comes in")
		}
		return
	}
	f := parse(x.Reply, k.input(""), at.In("reply"))
	if f == nil {
		return
	}
	w.result = &target{format: f, fields: f.Fields()}
	if x.Result == nil {
		if len(w.result.fields) > 0 {
			at.In("reply").Errorf("a reply with a value needs result: its kind, such as result: {kind: float64}")
		}
		return
	}
	t := x.Result.Build(at.In("result"))
	d.Result = &t
	if v, ok := k.single(f, k.codec(&Attribute{}, &t, at.In("result")), 0, at.In("reply")); ok {
		w.result = &v
	}
}

// maxBreak is longer than any device needs: a modem takes 0.25 s as one.
const maxBreak = 10 * time.Second

// steps compiles requests. common is the reply of those that have none of
// their own, c the codec of the value that they may take.
func (k *compiler) steps(steps Steps, common *string, c *codec, a *Attribute, at, commonAt describe.Place) []step {
	var compiled []step
	for i, s := range steps {
		here := at
		if len(steps) > 1 {
			here = at.In(fmt.Sprint(i))
		}
		if s.Wait < 0 || s.Wait > maxDuration {
			here.Errorf("wait %v: want a time up to %v", s.Wait, maxDuration)
		}
		if s.Break < 0 || s.Break > maxBreak {
			here.Errorf("break %v: want a time up to %v", s.Break, maxBreak)
		}
		if s.Send == "" && s.Reply == nil && s.Break == 0 && s.Wait == 0 {
			here.Errorf("a step sends something, expects something or waits")
		}
		built := step{brk: s.Break, wait: s.Wait}
		reply, replyAt := common, commonAt
		if s.Reply != nil {
			reply, replyAt = s.Reply, here.In("reply")
		}
		if s.Send != "" {
			if built.format, built.field = k.send(s.Send, c, a, here); built.format == nil {
				continue
			}
		} else if s.Reply == nil {
			reply = nil
		}
		if reply != nil && *reply != "" {
			built.reply = parse(*reply, k.input(""), replyAt)
		}
		compiled = append(compiled, built)
	}
	return compiled
}

// send compiles a request that may take the value.
func (k *compiler) send(text string, c *codec, a *Attribute, at describe.Place) (*stream.Format, *stream.Field) {
	plain := parse(text, stream.Options{Direction: stream.Out}, at)
	if plain == nil {
		return nil, nil
	}
	fields := plain.Fields()
	switch {
	case len(fields) == 0:
		if b, err := plain.Append(nil); err == nil {
			k.checkTerminator(b, at)
		}
		return plain, nil
	case len(fields) > 1:
		at.ErrorAt(fields[1].Offset, "a request takes one value, this has %d converters", len(fields))
		return nil, nil
	case c == nil:
		at.ErrorAt(fields[0].Offset, "there is no value to write here: %%%% is one percent sign, and a command's value is its argument")
		return nil, nil
	}
	f := plain
	if len(a.Shape) > 0 {
		if f = k.format(text, a, stream.Out, at); f == nil {
			return nil, nil
		}
	} else if c.typ.IsArray() {
		at.Errorf("an array cannot be an argument")
		return nil, nil
	}
	if err := c.check(&fields[0], stream.Out); err != nil {
		at.ErrorAt(fields[0].Offset, "%v", err)
		return nil, nil
	}
	return f, &fields[0]
}
