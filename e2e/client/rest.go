package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A restSample is one role of an attribute in REST's JSON.
type restSample struct {
	Value json.RawMessage `json:"value"`
	Time  string          `json:"time"`
	Alarm struct{ Severity, Status, Text string }
	Seq   uint64 `json:"seq"`
	Lost  uint64 `json:"lost"`
}

func (s *restSample) shown(at int64, name, role string) Event {
	return Event{
		At: at, Kind: Shown, Name: name, Role: role, Value: number(s.Value), Time: nanoseconds(s.Time),
		Seq: s.Seq, Severity: s.Alarm.Severity, Status: s.Alarm.Status, Lost: s.Lost,
	}
}

// A restEvent is one event of a stream in REST's JSON.
type restEvent struct {
	Event, Name, Role string
	restSample
	Setpoint *restSample
}

// events are what a client shows because of it.
func (e *restEvent) events(at int64) []Event {
	var shown []Event
	switch e.Event {
	case "synced":
		return []Event{{At: at, Kind: Synced}}
	case "sample":
		return []Event{e.shown(at, e.Name, e.Role)}
	case "added", "availability":
		if e.Value != nil {
			shown = append(shown, e.shown(at, e.Name, "readback"))
		}
		if e.Setpoint != nil {
			shown = append(shown, e.Setpoint.shown(at, e.Name, "setpoint"))
		}
	}
	return shown
}

// number is nil for what is no number.
func number(data json.RawMessage) *float64 {
	x, err := strconv.ParseFloat(string(data), 64)
	if err != nil {
		return nil
	}
	return &x
}

func nanoseconds(text string) int64 {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0
	}
	return t.UnixNano()
}

// match is one pattern for all names, which are of one device.
func match(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	device, _, _ := strings.Cut(names[0], ".")
	return device + ".*"
}

func watchSSE(ctx context.Context, address string, names []string, each func(Event)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/api/v1/stream?match="+match(names), nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the stream is refused: %s", response.Status)
	}
	each(Event{At: now(), Kind: Up})
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		data, isData := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !isData {
			continue
		}
		var e restEvent
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("an event cannot be read: %w", err)
		}
		for _, shown := range e.events(now()) {
			each(shown)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return errEnded
}

type restPutter struct {
	base   string
	client *http.Client
}

func newRESTPutter(address string) *restPutter {
	return &restPutter{base: "http://" + address + "/api/v1/attributes/", client: &http.Client{Transport: &http.Transport{}}}
}

func (p *restPutter) Close() { p.client.CloseIdleConnections() }

func (p *restPutter) Put(ctx context.Context, name string, value int64) (Verdict, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, p.base+name, strings.NewReader(strconv.FormatInt(value, 10)))
	if err != nil {
		return Verdict{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	return verdictOf(p.client.Do(request))
}

// verdictOf reads the answer of REST to a put.
func verdictOf(response *http.Response, err error) (Verdict, error) {
	if err != nil {
		return Verdict{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return Verdict{}, err
	}
	return parseVerdict(body)
}

// parseVerdict reads a verdict or a problem.
func parseVerdict(data []byte) (Verdict, error) {
	var answer struct{ Stage, Code, Detail string }
	if err := json.Unmarshal(data, &answer); err != nil {
		return Verdict{}, fmt.Errorf("%w in %q", err, data)
	}
	return Verdict{Stage: answer.Stage, Code: answer.Code, Words: answer.Detail}, nil
}
