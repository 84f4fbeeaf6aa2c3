package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polygate/gateway/ca/cawire"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// read reads a name, by the protocol that the address says.
func (cl *client) read(c *cobra.Command, name string) error {
	address, err := cl.address("http", "https", "grpc", "ca")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context(), cl.timeout)
	defer cancel()
	switch {
	case address.Scheme == "grpc":
		return cl.readGRPC(ctx, c, address.Host, name)
	case address.Scheme == "ca":
		return cl.readCA(ctx, c, address.Host, name)
	case strings.HasSuffix(address.Path, "/graphql"):
		return cl.readGraphQL(ctx, c, name)
	default:
		return cl.get(c, name)
	}
}

// isPattern reports whether name stands for any number of attributes, also none.
func isPattern(name string) bool { return strings.ContainsAny(name, "*>") }

func notThere(name string) error { return fmt.Errorf("there is no attribute or command %q", name) }

// A graphQLPage is a page of attributes.
type graphQLPage struct {
	Attributes []struct {
		Name               string
		Readback, Setpoint *reading
	}
	Next *string
}

// readGraphQL reads over GraphQL.
func (cl *client) readGraphQL(ctx context.Context, c *cobra.Command, match string) error {
	for after := (*string)(nil); ; {
		page, err := cl.graphQLPage(ctx, match, after)
		if err != nil {
			return err
		}
		if len(page.Attributes) == 0 && !isPattern(match) {
			return notThere(match)
		}
		for _, a := range page.Attributes {
			if a.Readback != nil {
				fmt.Fprintln(c.OutOrStdout(), a.Readback.line(a.Name, ""))
			}
			if a.Setpoint != nil {
				fmt.Fprintln(c.OutOrStdout(), a.Setpoint.line(a.Name+" (setpoint)", ""))
			}
		}
		if after = page.Next; after == nil {
			return nil
		}
	}
}

func (cl *client) graphQLPage(ctx context.Context, match string, after *string) (*graphQLPage, error) {
	const query = `query($match: String!, $after: String) {attributes(match: $match, after: $after) {
		attributes {name readback {value time alarm {severity status text}} setpoint {value time alarm {severity status text}}} next}}`
	body, err := json.Marshal(map[string]any{"query": query, "variables": map[string]any{"match": match, "after": after}})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, cl.base, bytes.NewReader(body))
	if err != nil {
		return nil, usagef("%s: %w", cl.base, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("no gateway answers at %s: %w", cl.base, err)
	}
	defer response.Body.Close()
	var answer struct {
		Errors []struct{ Message string }
		Data   struct{ Attributes graphQLPage }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	if len(answer.Errors) > 0 {
		return nil, errors.New(answer.Errors[0].Message)
	}
	return &answer.Data.Attributes, nil
}

// readGRPC reads over gRPC, and prints messages as protobuf's JSON.
func (cl *client) readGRPC(ctx context.Context, c *cobra.Command, host, match string) error {
	conn, err := grpc.NewClient(host, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return usagef("--url: %w", err)
	}
	defer conn.Close()
	for token := ""; ; {
		page, err := pb.NewGatewayServiceClient(conn).Get(ctx, &pb.GetRequest{Match: match, PageToken: token})
		if err != nil {
			return err
		}
		if len(page.GetAttributes()) == 0 && !isPattern(match) {
			return notThere(match)
		}
		for _, attribute := range page.GetAttributes() {
			text, err := protojson.Marshal(attribute)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s\n", text)
		}
		if token = page.GetNextPageToken(); token == "" {
			return nil
		}
	}
}

// maxText is far more than what a process variable is as text.
const maxText = 1 << 16

// readCA reads the process variable over Channel Access, as text: it searches at
// the address alone, as clients of a name server do.
func (cl *client) readCA(ctx context.Context, c *cobra.Command, host, pv string) error {
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(host, fmt.Sprint(cawire.DefaultServerPort))
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return fmt.Errorf("no gateway answers: %w", err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	circuit := caCircuit{conn: conn}
	if err := circuit.send(
		&cawire.Version{Minor: cawire.MinorCurrent},
		&cawire.SearchRequest{Reply: cawire.DontReply, Minor: cawire.MinorCurrent, CID: 1, Name: []byte(pv)},
	); err != nil {
		return err
	}
	if _, err := await[*cawire.SearchReply](&circuit); err != nil {
		return fmt.Errorf("nobody has %s: %w", pv, err)
	}
	if err := circuit.send(&cawire.CreateChanRequest{CID: 1, Minor: cawire.MinorCurrent, Name: []byte(pv)}); err != nil {
		return err
	}
	channel, err := await[*cawire.CreateChanReply](&circuit)
	if err != nil {
		return err
	}
	if err := circuit.send(&cawire.ReadNotifyRequest{Type: cawire.DBRTimeString, Count: 1, SID: channel.SID}); err != nil {
		return err
	}
	reply, err := await[*cawire.ReadNotifyReply](&circuit)
	if err != nil {
		return err
	}
	var meta cawire.Meta
	var values cawire.Values
	if err := cawire.DecodeDBR(reply.Type, reply.Count, reply.Payload, &meta, &values); err != nil || len(values.Strings) == 0 {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	fmt.Fprintf(c.OutOrStdout(), "%-28s %-14s %s\n", pv, values.Strings[0], meta.Time.Time().Format(time.RFC3339Nano))
	return nil
}

// A caCircuit is the client's side of a circuit.
type caCircuit struct {
	conn net.Conn
	in   []byte
}

// send sends messages.
func (k *caCircuit) send(messages ...cawire.Message) error {
	var out []byte
	for _, m := range messages {
		var err error
		if out, err = m.Append(out, cawire.MinorCurrent); err != nil {
			return err
		}
	}
	_, err := k.conn.Write(out)
	return err
}

// await passes over messages until one is an M.
func await[M cawire.Message](k *caCircuit) (M, error) {
	var none M
	for {
		frame, n, err := cawire.Next(k.in, maxText)
		if errors.Is(err, cawire.ErrIncomplete) {
			buf := make([]byte, 4096)
			n, err := k.conn.Read(buf)
			if err != nil {
				return none, err
			}
			k.in = append(k.in, buf[:n]...)
			continue
		}
		if err != nil {
			return none, err
		}
		m, err := cawire.Decode(frame, cawire.Server, cawire.OnCircuit)
		if err != nil {
			return none, err
		}
		k.in = k.in[n:]
		if wanted, ok := m.(M); ok {
			return wanted, nil
		}
		if _, failed := m.(*cawire.CreateChFail); failed {
			return none, errors.New("there is no such process variable")
		}
	}
}
