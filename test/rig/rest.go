//go:build unix

package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// An Alarm is what REST says of an alarm.
type Alarm struct{ Severity, Status, Text string }

// A Sample is what REST says of one role of an attribute.
type Sample struct {
	Value    json.RawMessage `json:"value"`
	Time     time.Time       `json:"time"`
	LastGood time.Time       `json:"last_good"`
	Alarm    Alarm           `json:"alarm"`
	Seq      uint64          `json:"seq"`
}

// Good reports whether there is a value and no alarm of severity INVALID: what a
// client would work with.
func (s *Sample) Good() bool {
	return len(s.Value) > 0 && string(s.Value) != "null" && s.Alarm.Severity != "INVALID"
}

// Number returns the value, or NaN's stand-in -1e308 where it is no number.
func (s *Sample) Number() float64 {
	var x float64
	if json.Unmarshal(s.Value, &x) != nil {
		return -1e308
	}
	return x
}

// Text returns a text or a label, or the JSON of anything else.
func (s *Sample) Text() string {
	var text string
	if json.Unmarshal(s.Value, &text) != nil {
		return string(s.Value)
	}
	return text
}

// A Reply is what REST says of an attribute, or of a put, or why not.
type Reply struct {
	Name string `json:"name"`
	Sample
	Setpoint     Sample `json:"setpoint"`
	Availability struct {
		State string    `json:"state"`
		Since time.Time `json:"since"`
		Words string    `json:"words"`
	} `json:"availability"`
	Stage string `json:"stage"`

	// Of a problem.
	Code        string `json:"code"`
	Detail      string `json:"detail"`
	DeviceWords string `json:"device_words"`

	Event  string `json:"event"` // of a stream
	Role   string `json:"role"`  // of an event "sample"
	Status int    `json:"-"`
	Body   string `json:"-"`
}

// Sent reports whether a put may have reached the device, going by its verdict.
func (r *Reply) Sent() bool {
	switch r.Stage {
	case "sent", "acknowledged", "verified":
		return true
	}
	return false
}

// Get reads an attribute.
func (g *Gateway) Get(name string) Reply {
	g.t.Helper()
	return g.do(http.MethodGet, "/attributes/"+name, "")
}

// Put sets an attribute to a value in JSON. The query may be empty.
func (g *Gateway) Put(name, value, query string) Reply {
	g.t.Helper()
	reply, err := g.TryPut(name, value, query)
	if err != nil {
		g.t.Fatal(err)
	}
	return reply
}

// TryPut is Put for goroutines beside that of the test.
func (g *Gateway) TryPut(name, value, query string) (Reply, error) {
	target := "/attributes/" + name
	if query != "" {
		target += "?" + query
	}
	return g.ask(http.MethodPut, target, value)
}

// Execute runs a command.
func (g *Gateway) Execute(name string) Reply {
	g.t.Helper()
	return g.do(http.MethodPost, "/commands/"+name, "")
}

// Names returns the names of all attributes that match.
func (g *Gateway) Names(match string) []string {
	g.t.Helper()
	var page struct {
		Attributes []struct {
			Name string `json:"name"`
		} `json:"attributes"`
	}
	body := g.do(http.MethodGet, "/attributes?limit=1000&match="+match, "").Body
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		g.t.Fatalf("%v: %s", err, body)
	}
	names := make([]string, len(page.Attributes))
	for i := range page.Attributes {
		names[i] = page.Attributes[i].Name
	}
	return names
}

// Await reads an attribute again and again, as a client would, until it is as
// wanted, and fails after a limit.
func (g *Gateway) Await(name string, limit time.Duration, what string, wanted func(*Reply) bool) Reply {
	g.t.Helper()
	var last Reply
	ok := Until(limit, func() bool {
		last = g.Get(name)
		return wanted(&last)
	})
	if !ok {
		g.t.Fatalf("%s does not become %s within %v: %s", name, what, limit, last.Body)
	}
	return last
}

// AwaitGood waits until an attribute is good and has a value.
func (g *Gateway) AwaitGood(name string) Reply {
	g.t.Helper()
	return g.Await(name, Limit, "good", func(r *Reply) bool { return r.Status == http.StatusOK && r.Good() })
}

// Until asks again and again until the answer is yes, and returns false after a limit.
func Until(limit time.Duration, ask func() bool) bool {
	end := time.After(limit)
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for !ask() {
		select {
		case <-end:
			return ask()
		case <-again.C:
		}
	}
	return true
}

func (g *Gateway) do(method, target, body string) Reply {
	g.t.Helper()
	reply, err := g.ask(method, target, body)
	if err != nil {
		g.t.Fatal(err)
	}
	return reply
}

func (g *Gateway) ask(method, target, body string) (Reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*Limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, g.base+"/api/v1"+target, strings.NewReader(body))
	if err != nil {
		return Reply{}, fmt.Errorf("%s: %w", g.name, err)
	}
	response, err := g.client.Do(request)
	if err != nil {
		return Reply{}, fmt.Errorf("%s: %w", g.name, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return Reply{}, fmt.Errorf("%s: %s %s: %w", g.name, method, target, err)
	}
	reply := Reply{Status: response.StatusCode, Body: string(data)}
	_ = json.Unmarshal(data, &reply) // a list has other members; Body tells
	return reply, nil
}
