package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// A graphSample is one role of an attribute in GraphQL's JSON.
type graphSample struct {
	Value json.RawMessage `json:"value"`
	Time  string          `json:"time"`
	Alarm struct{ Severity, Status string }
	Seq   uint64 `json:"seq,string"`
}

func (s *graphSample) shown(at int64, name, role string) Event {
	return Event{
		At: at, Kind: Shown, Name: name, Role: role, Value: number(s.Value), Time: nanoseconds(s.Time),
		Seq: s.Seq, Severity: s.Alarm.Severity, Status: s.Alarm.Status,
	}
}

// A graphEvent is one event of a batch.
type graphEvent struct {
	Type, Name, Role           string
	Sample, Readback, Setpoint *graphSample
	Lost                       uint64
}

func (e *graphEvent) events(at int64) []Event {
	var shown []Event
	if e.Type == "SYNCED" {
		return []Event{{At: at, Kind: Synced}}
	}
	if e.Sample != nil {
		sample := e.Sample.shown(at, e.Name, strings.ToLower(e.Role))
		sample.Lost = e.Lost
		shown = append(shown, sample)
	}
	if e.Readback != nil {
		shown = append(shown, e.Readback.shown(at, e.Name, "readback"))
	}
	if e.Setpoint != nil {
		shown = append(shown, e.Setpoint.shown(at, e.Name, "setpoint"))
	}
	return shown
}

// A graphMessage is one message of the protocol graphql-transport-ws.
type graphMessage struct {
	Type    string
	Payload json.RawMessage
}

func watchGraphQL(ctx context.Context, address string, names []string, each func(Event)) error {
	conn, err := dialWebSocket(ctx, "ws://"+address+"/graphql", "graphql-transport-ws")
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // It is over.
	if err := sendText(ctx, conn, `{"type":"connection_init"}`); err != nil {
		return err
	}
	for {
		var m graphMessage
		if err := receive(ctx, conn, &m); err != nil {
			return err
		}
		switch m.Type {
		case "connection_ack":
			query := fmt.Sprintf(`subscription { updates(match: %q) { batch } }`, match(names))
			if err := sendText(ctx, conn, `{"id":"1","type":"subscribe","payload":{"query":%q}}`, query); err != nil {
				return err
			}
			each(Event{At: now(), Kind: Up})
		case "ping":
			if err := sendText(ctx, conn, `{"type":"pong"}`); err != nil {
				return err
			}
		case "next":
			if err := graphBatch(m.Payload, each); err != nil {
				return err
			}
		case "error", "complete":
			return fmt.Errorf("the subscription ended: %s %s", m.Type, m.Payload)
		}
	}
}

func graphBatch(payload []byte, each func(Event)) error {
	var next struct {
		Data struct{ Updates struct{ Batch []graphEvent } }
	}
	if err := json.Unmarshal(payload, &next); err != nil {
		return fmt.Errorf("a batch cannot be read: %w", err)
	}
	at := now()
	for i := range next.Data.Updates.Batch {
		for _, shown := range next.Data.Updates.Batch[i].events(at) {
			each(shown)
		}
	}
	return nil
}

type graphQLPutter struct {
	url    string
	client *http.Client
}

func newGraphQLPutter(address string) *graphQLPutter {
	return &graphQLPutter{url: "http://" + address + "/graphql", client: &http.Client{Transport: &http.Transport{}}}
}

func (p *graphQLPutter) Close() { p.client.CloseIdleConnections() }

func (p *graphQLPutter) Put(ctx context.Context, name string, value int64) (Verdict, error) {
	query := fmt.Sprintf(`mutation { put(name: %q, value: %d) { stage } }`, name, value)
	body, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		return Verdict{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return Verdict{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := p.client.Do(request)
	if err != nil {
		return Verdict{}, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return Verdict{}, err
	}
	var answer struct {
		Data   struct{ Put *struct{ Stage string } }
		Errors []struct {
			Message    string
			Extensions struct{ Code, Stage string }
		}
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return Verdict{}, fmt.Errorf("%w in %q", err, data)
	}
	switch {
	case len(answer.Errors) > 0:
		first := answer.Errors[0]
		return Verdict{Stage: first.Extensions.Stage, Code: first.Extensions.Code, Words: first.Message}, nil
	case answer.Data.Put == nil:
		return Verdict{}, fmt.Errorf("no verdict in %q", data)
	}
	return Verdict{Stage: strings.ToLower(answer.Data.Put.Stage)}, nil
}
