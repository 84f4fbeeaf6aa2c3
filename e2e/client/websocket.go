package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coder/websocket"
)

// dialWebSocket connects; responses may be large.
func dialWebSocket(ctx context.Context, url string, subprotocols ...string) (*websocket.Conn, error) {
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{Subprotocols: subprotocols}) //nolint:bodyclose // The library says that it need not be closed.
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(16 << 20)
	return conn, nil
}

func sendText(ctx context.Context, conn *websocket.Conn, format string, args ...any) error {
	return conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, format, args...))
}

func receive(ctx context.Context, conn *websocket.Conn, into any) error {
	_, data, err := conn.Read(ctx)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// A socketMessage is what the gateway sends on REST's WebSocket.
type socketMessage struct {
	Type, ID string
	Events   []restEvent
	Verdict  json.RawMessage
	Problem  json.RawMessage
}

func watchWebSocket(ctx context.Context, address string, names []string, each func(Event)) error {
	conn, err := dialWebSocket(ctx, "ws://"+address+"/api/v1/ws")
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // It is over.
	if err := sendText(ctx, conn, `{"type":"watch","id":"w","match":%q}`, match(names)); err != nil {
		return err
	}
	each(Event{At: now(), Kind: Up})
	for {
		var m socketMessage
		if err := receive(ctx, conn, &m); err != nil {
			return err
		}
		if m.Problem != nil {
			return fmt.Errorf("the watch is refused: %s", m.Problem)
		}
		at := now()
		for i := range m.Events {
			for _, shown := range m.Events[i].events(at) {
				each(shown)
			}
		}
	}
}

type webSocketPutter struct{ conn *websocket.Conn }

func dialWebSocketPutter(ctx context.Context, address string) (*webSocketPutter, error) {
	conn, err := dialWebSocket(ctx, "ws://"+address+"/api/v1/ws")
	if err != nil {
		return nil, err
	}
	return &webSocketPutter{conn}, nil
}

func (p *webSocketPutter) Close() { _ = p.conn.CloseNow() }

func (p *webSocketPutter) Put(ctx context.Context, name string, value int64) (Verdict, error) {
	if err := sendText(ctx, p.conn, `{"type":"put","id":"p","name":%q,"value":%d}`, name, value); err != nil {
		return Verdict{}, err
	}
	for {
		var m socketMessage
		if err := receive(ctx, p.conn, &m); err != nil {
			return Verdict{}, err
		}
		switch {
		case m.Problem != nil:
			return parseVerdict(m.Problem)
		case m.Verdict != nil:
			return parseVerdict(m.Verdict)
		}
	}
}
