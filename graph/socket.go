package graph

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/polygate/gateway"
)

// socket is one WebSocket. Its own goroutine writes and owns what goes on;
// one more reads, one looks whether the client is still there, and each query or
// mutation under way has one.
type socket struct {
	server  *Server
	ws      *websocket.Conn
	dialect dialect
	headers http.Header

	feed     *feed
	active   map[string]*operation
	running  int // of the active ones, those that are no subscriptions
	began    bool
	requests chan request // from the reader
	answers  chan answer  // from queries and mutations

	helpers sync.WaitGroup
}

// operation is one that has not ended: a subscription, or a query or mutation under way.
type operation struct {
	id     string
	sub    *subscription      // or nil
	cancel context.CancelFunc // of a query or mutation
}

// request is a message, with what the reader has made of its payload.
type request struct {
	message
	op     *graphql.OperationContext
	failed *graphql.Response
}

type answer struct {
	operation *operation
	response  *graphql.Response
}

// closing is why a connection is to end.
type closing struct {
	code   websocket.StatusCode
	reason string
}

func (c closing) Error() string { return c.reason }

// serve returns when the connection is closed and nothing of it runs any more.
func (so *socket) serve() {
	// It outlasts the request's own context, which ends with the hijack.
	ctx, cancel := context.WithCancelCause(withSession(so.server.aborting, so.feed.session))
	defer cancel(nil)
	so.helpers.Go(func() { so.read(ctx, cancel) })
	err := so.pump(ctx, cancel)
	so.feed.close()
	var c closing
	if !errors.As(err, &c) {
		c = closing{websocket.StatusGoingAway, ""}
	}
	so.close(c, func() { cancel(err) })
	so.helpers.Wait()
}

// close says good-bye, waits for the client to do so for a moment, and calls
// cancel, which ends everything else.
func (so *socket) close(c closing, cancel func()) {
	// A read whose context ends closes the connection at once.
	limit := time.AfterFunc(so.server.limits.linger, cancel)
	defer limit.Stop()
	hard := time.AfterFunc(2*so.server.limits.linger, func() { _ = so.ws.CloseNow() })
	defer hard.Stop()
	_ = so.ws.Close(c.code, c.reason)
	cancel()
}

// pump answers messages and delivers events until the connection is to end.
func (so *socket) pump(ctx context.Context, cancel context.CancelCauseFunc) error {
	tooLate := time.NewTimer(so.server.limits.begin)
	defer tooLate.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-so.server.stopping.Done():
			return closing{websocket.StatusGoingAway, "the gateway is stopping"}
		case <-tooLate.C:
			if !so.began {
				return closing{closeInitTimeout, "Connection initialisation timeout"}
			}
		case r := <-so.requests:
			err = so.handle(ctx, cancel, r)
		case a := <-so.answers:
			err = so.finish(a)
		case <-so.feed.ready():
			err = so.feed.deliver(so.send)
		}
		if err != nil {
			return err
		}
	}
}

// read reads messages until the connection ends. Reading goes on while something
// is written, so that pongs are seen, and stops while too much waits to be done.
func (so *socket) read(ctx context.Context, cancel context.CancelCauseFunc) {
	for {
		_, data, err := so.ws.Read(ctx)
		if err != nil {
			cancel(err)
			return
		}
		var r request
		if err := decode(data, &r.message); err != nil {
			cancel(closing{closeBadRequest, "Invalid message received"})
			return
		}
		if r.Type == so.dialect.subscribe {
			if err := so.prepare(ctx, &r); err != nil {
				cancel(err)
				return
			}
		}
		select {
		case so.requests <- r:
		case <-ctx.Done():
			return
		}
	}
}

func (so *socket) prepare(ctx context.Context, r *request) error {
	params := &graphql.RawParams{Headers: so.headers}
	if r.ID == "" || len(r.ID) > maxID || decode(r.Payload, params) != nil {
		return closing{closeBadRequest, "Invalid message received"}
	}
	r.Payload = nil
	r.op, r.failed = so.server.prepare(ctx, params)
	return nil
}

// handle does what a message asks for. An error ends the connection.
func (so *socket) handle(ctx context.Context, cancel context.CancelCauseFunc, r request) error {
	switch r.Type {
	case "connection_init":
		return so.begin(ctx, cancel)
	case so.dialect.subscribe:
		return so.start(ctx, r)
	case so.dialect.unsubscribe:
		so.forget(r.ID)
		return nil
	case "ping":
		return so.write([]byte(`{"type":"pong"}`))
	case "pong":
		return nil
	case "connection_terminate":
		return closing{websocket.StatusNormalClosure, ""}
	}
	return closing{closeBadRequest, "Invalid message received"}
}

// begin acknowledges the connection. The first sign of life follows at once.
func (so *socket) begin(ctx context.Context, cancel context.CancelCauseFunc) error {
	if so.began {
		return closing{closeTooManyRequests, "Too many initialisation requests"}
	}
	so.began = true
	if err := so.write([]byte(`{"type":"connection_ack"}`)); err != nil {
		return err
	}
	so.helpers.Go(func() { so.keepAlive(ctx, cancel) })
	return nil
}

// keepAlive ends a connection whose client is gone without a word. It pings as
// WebSockets do, which every client answers by itself whatever the subprotocol.
func (so *socket) keepAlive(ctx context.Context, cancel context.CancelCauseFunc) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if so.dialect.legacy && so.write([]byte(`{"type":"ka"}`)) != nil {
			cancel(errGone)
			return
		}
		// Not within ctx: a ping whose context ends while it is written tears the connection
		// down, and the client would never read why. Closing the connection ends the ping.
		limited, done := context.WithTimeout(so.server.aborting, so.server.limits.pong)
		err := so.ws.Ping(limited)
		done()
		if err != nil {
			cancel(errGone)
			return
		}
		timer.Reset(so.server.limits.keepAlive)
	}
}

var errGone = errors.New("the client is gone")

// start begins an operation.
func (so *socket) start(ctx context.Context, r request) error {
	switch {
	case !so.began:
		return closing{closeUnauthorized, "Unauthorized"}
	case so.active[r.ID] != nil:
		return closing{closeDuplicateID, "Subscriber for " + gateway.Quotable(r.ID) + " already exists"}
	case r.failed != nil:
		return so.fail(r.ID, r.failed)
	case r.op.Operation.Operation == ast.Subscription:
		sub, failed := so.feed.start(ctx, r.op, r.ID, gateway.Cursor{})
		if failed != nil {
			return so.fail(r.ID, failed)
		}
		so.active[r.ID] = &operation{id: r.ID, sub: sub}
		return nil
	case so.running >= maxOperations:
		return so.fail(r.ID, failure(gateway.Errorf(gateway.KindBusy, "%d operations are under way on this connection already", so.running)))
	}
	ctx, cancel := context.WithCancel(ctx)
	o := &operation{id: r.ID, cancel: cancel}
	so.active[r.ID] = o
	so.running++
	so.helpers.Go(func() {
		// There is room for the answers of all that may run.
		so.answers <- answer{o, so.server.run(ctx, r.op)}
	})
	return nil
}

// finish sends the answer of a query or mutation, unless the client has given it up.
func (so *socket) finish(a answer) error {
	so.running--
	a.operation.cancel()
	if so.active[a.operation.id] != a.operation {
		return nil
	}
	delete(so.active, a.operation.id)
	b := so.server.takeBuffer()
	defer so.server.giveBuffer(b)
	b.out = append(appendResponse(appendMessageHead(b.out, so.dialect.next, a.operation.id), a.response), '}')
	if err := so.write(b.out); err != nil {
		return err
	}
	return so.complete(a.operation.id)
}

// forget ends an operation that the client has given up.
func (so *socket) forget(id string) {
	o := so.active[id]
	if o == nil {
		return // it may just have ended
	}
	delete(so.active, id)
	if o.sub != nil {
		so.feed.end(o.sub)
	} else {
		o.cancel()
	}
}

// fail answers an operation that could not begin.
func (so *socket) fail(id string, response *graphql.Response) error {
	return so.write(so.dialect.appendErrors(nil, id, response))
}

func (so *socket) complete(id string) error {
	return so.write(append(gateway.AppendJSONString([]byte(`{"type":"complete","id":`), id), '}'))
}

// send sends one delivery of a subscription.
func (so *socket) send(sub *subscription, events []gateway.Event) error {
	b := so.server.takeBuffer()
	defer so.server.giveBuffer(b)
	var err error
	if b.out, err = sub.appendResponse(appendMessageHead(b.out, so.dialect.next, sub.id), events); err != nil {
		return err
	}
	b.out = append(b.out, '}')
	return so.write(b.out)
}

// write writes a message within its limit. Any goroutine may call it.
func (so *socket) write(data []byte) error {
	ctx, cancel := context.WithTimeout(so.server.aborting, so.server.limits.batch)
	defer cancel()
	return so.ws.Write(ctx, websocket.MessageText, data)
}
