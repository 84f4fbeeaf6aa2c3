package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// client talks to a running gateway, so that an image without a shell or curl can
// be asked: over REST, and to read over every protocol.
type client struct {
	base    string
	timeout time.Duration
	json    bool
}

// defaultURL is where a gateway on this host listens.
const defaultURL = "http://127.0.0.1:8080"

func (cl *client) flags(c *cobra.Command) {
	otherwise := defaultURL
	if fromEnv := os.Getenv("POLYGATE_URL"); fromEnv != "" {
		otherwise = fromEnv
	}
	c.Flags().StringVar(&cl.base, "url", otherwise, "where the gateway is (also POLYGATE_URL)")
	c.Flags().BoolVar(&cl.json, "json", false, "print the answer as it came")
}

// A reading is what answers say of an attribute.
type reading struct {
	Name     string          `json:"name"`
	Value    json.RawMessage `json:"value"`
	Time     string          `json:"time"`
	Alarm    alarm           `json:"alarm"`
	Seq      uint64          `json:"seq"`
	Setpoint *reading        `json:"setpoint"`
	Stage    string          `json:"stage"`
	Result   json.RawMessage `json:"result"`
	Role     string          `json:"role"`
	Event    string          `json:"event"`
	State    struct {
		State string `json:"state"`
		Words string `json:"words"`
	} `json:"availability"`
	Descriptor struct {
		Units  string `json:"units"`
		Access string `json:"access"`
	} `json:"descriptor"`
}

type alarm struct {
	Severity string `json:"severity"`
	Status   string `json:"status"`
	Text     string `json:"text"`
}

func (a alarm) String() string {
	if a.Severity == "" || a.Severity == "NO_ALARM" {
		return ""
	}
	return strings.TrimSpace(a.Severity + " " + a.Status + " " + a.Text)
}

// plain writes a JSON value as people read it: text without quotes.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && len(value) > 0 && value[0] == '"' {
		return text
	}
	if len(value) == 0 || string(value) == "null" {
		return "-"
	}
	return string(value)
}

// line writes one reading in one line: name, value, units, time, alarm.
func (r *reading) line(name, units string) string {
	at := r.Time
	if at == "" {
		at = "never read"
	}
	return strings.TrimRight(fmt.Sprintf("%-28s %-14s %-6s %s  %s", name, plain(r.Value), units, at, r.Alarm), " ")
}

func newGet() *cobra.Command {
	cl := &client{timeout: 10 * time.Second}
	c := &cobra.Command{
		Use:   "get NAME...",
		Short: "Read attributes of a running gateway",
		Long: `Reads attributes, or patterns of them. The address says by which protocol:

  http://HOST:PORT          REST
  http://HOST:PORT/graphql  GraphQL
  grpc://HOST:PORT          gRPC
  ca://HOST:PORT            Channel Access, with the name of a process variable`,
		Example: `  gateway get demo.r1.start
  gateway get 'demo.r1.*'
  gateway get --url ca://127.0.0.1:5064 DEMO:R1:Start`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			for _, name := range args {
				if err := cl.read(c, name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cl.flags(c)
	return c
}

func (cl *client) get(c *cobra.Command, name string) error {
	if isPattern(name) {
		for next := "/api/v1/attributes?match=" + url.QueryEscape(name); next != ""; {
			var page struct {
				Attributes []json.RawMessage `json:"attributes"`
				Next       string            `json:"next"`
			}
			if err := cl.ask(c.Context(), http.MethodGet, next, nil, &page); err != nil {
				return err
			}
			for _, data := range page.Attributes {
				if err := cl.print(c.OutOrStdout(), data); err != nil {
					return err
				}
			}
			next = page.Next
		}
		return nil
	}
	var data json.RawMessage
	if err := cl.ask(c.Context(), http.MethodGet, "/api/v1/attributes/"+url.PathEscape(name), nil, &data); err != nil {
		return err
	}
	return cl.print(c.OutOrStdout(), data)
}

func (cl *client) print(out io.Writer, data json.RawMessage) error {
	if cl.json {
		_, err := fmt.Fprintf(out, "%s\n", data)
		return err
	}
	var r reading
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	if r.Value != nil {
		fmt.Fprintln(out, r.line(r.Name, r.Descriptor.Units))
	}
	if r.Setpoint != nil {
		fmt.Fprintln(out, r.Setpoint.line(r.Name+" (setpoint)", r.Descriptor.Units))
	}
	return nil
}

func newPut() *cobra.Command {
	cl := &client{}
	var latest bool
	c := &cobra.Command{
		Use:   "put NAME [VALUE]",
		Short: "Set an attribute, or run a command, and wait for the verdict",
		Example: `  gateway put demo.r1.start 10
  gateway put demo.r1.enabled On
  gateway put demo.cancel_all`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			options := url.Values{"budget": {cl.timeout.String()}}
			if latest {
				options.Set("mode", "latest")
			}
			method, path, body := http.MethodPost, "/api/v1/commands/", io.Reader(nil)
			if len(args) == 2 {
				body = strings.NewReader(args[1])
				if !cl.isCommand(c.Context(), args[0]) {
					method, path = http.MethodPut, "/api/v1/attributes/"
				}
			}
			var data json.RawMessage
			if err := cl.ask(c.Context(), method, path+url.PathEscape(args[0])+"?"+options.Encode(), body, &data); err != nil {
				return err
			}
			if cl.json {
				return cl.print(c.OutOrStdout(), data)
			}
			var r reading
			if err := json.Unmarshal(data, &r); err != nil {
				return fmt.Errorf("the answer cannot be read: %w", err)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", r.Name, r.Stage)
			if r.Result != nil {
				fmt.Fprintln(c.OutOrStdout(), plain(r.Result))
			}
			return cl.print(c.OutOrStdout(), data)
		},
	}
	cl.flags(c)
	c.Flags().DurationVar(&cl.timeout, "budget", 10*time.Second, "how long to wait for the verdict")
	c.Flags().BoolVar(&latest, "latest", false, "let a newer put take this one's place")
	return c
}

func (cl *client) isCommand(ctx context.Context, name string) bool {
	return cl.ask(ctx, http.MethodGet, "/api/v1/commands/"+url.PathEscape(name), nil, nil) == nil
}

func newWatch() *cobra.Command {
	cl := &client{}
	var traced traceOptions
	c := &cobra.Command{
		Use:   "watch PATTERN, or watch --bytes LINK",
		Short: "Print changes of attributes as they come, until interrupted",
		Example: `  gateway watch 'demo.r1.>'
  gateway watch --bytes line1 --save line1.trace`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			watch := cl.watch
			if traced.bytes {
				watch = traced.watch
			}
			if err := watch(c.Context(), c.OutOrStdout(), args[0]); c.Context().Err() == nil {
				return err
			}
			return nil // interrupted, as told
		},
	}
	cl.flags(c)
	traced.flags(c)
	return c
}

// watch prints events until ctx or the stream ends.
func (cl *client) watch(ctx context.Context, out io.Writer, pattern string) error {
	response, err := cl.send(ctx, http.MethodGet, "/api/v1/stream?match="+url.QueryEscape(pattern), nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	scanner := bufio.NewScanner(response.Body)
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		data, isData := bytes.CutPrefix(scanner.Bytes(), []byte("data: "))
		if !isData {
			continue
		}
		if err := cl.printEvent(out, data); err != nil {
			return err
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("the stream broke: %w", err)
	}
	return fmt.Errorf("the gateway ended the stream")
}

func (cl *client) printEvent(out io.Writer, data []byte) error {
	if cl.json {
		_, err := fmt.Fprintf(out, "%s\n", data)
		return err
	}
	var r reading
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("the event cannot be read: %w", err)
	}
	var err error
	switch r.Event {
	case "added", "described":
		return cl.print(out, data)
	case "sample":
		name := r.Name
		if r.Role == "setpoint" {
			name += " (setpoint)"
		}
		_, err = fmt.Fprintln(out, r.line(name, ""))
	case "availability":
		_, err = fmt.Fprintf(out, "%-28s %s %s\n", r.Name, r.State.State, r.State.Words)
	case "removed", "gap":
		_, err = fmt.Fprintln(out, strings.TrimSpace(r.Event+" "+r.Name))
	}
	return err
}

func newHealth() *cobra.Command {
	cl := &client{timeout: 3 * time.Second}
	c := &cobra.Command{
		Use:    "health",
		Short:  "Ask a running gateway whether it is alive (for container health checks)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return cl.ask(c.Context(), http.MethodGet, "/healthz", nil, nil)
		},
	}
	c.Flags().StringVar(&cl.base, "url", defaultOpsURL, "the gateway's operations listener")
	return c
}

// ask sends a request and decodes the answer into v, unless that is nil. A
// problem becomes an error with the gateway's own words.
func (cl *client) ask(ctx context.Context, method, path string, body io.Reader, v any) error {
	if cl.timeout > 0 {
		// The gateway answers when the budget is over; this is for one that is gone.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cl.timeout+2*time.Second)
		defer cancel()
	}
	response, err := cl.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if v == nil {
		_, err = io.Copy(io.Discard, response.Body)
		return err
	}
	if err := json.NewDecoder(response.Body).Decode(v); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}

// address is where the gateway is. The error says how one is written.
func (cl *client) address(schemes ...string) (*url.URL, error) {
	address, err := url.Parse(cl.base)
	if err == nil && address.Host != "" && slices.Contains(schemes, address.Scheme) {
		return address, nil
	}
	return nil, usagef("%q is no address of a gateway: want one such as http://127.0.0.1:8080, that begins with %s", cl.base, strings.Join(schemes, " or "))
}

func (cl *client) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	if _, err := cl.address("http", "https"); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(cl.base, "/")+path, body)
	if err != nil {
		return nil, usagef("%s: %w", cl.base, err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "text/plain")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("no gateway answers at %s: %w", cl.base, err)
	}
	if response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	var problem struct{ Detail, Code string }
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil || json.Unmarshal(text, &problem) != nil || problem.Detail == "" {
		return nil, fmt.Errorf("%s: %s", response.Status, bytes.TrimSpace(text))
	}
	return nil, fmt.Errorf("%s (%s)", problem.Detail, problem.Code)
}
