package rpc

import (
	"context"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/polygate/gateway"
	wire "github.com/polygate/gateway/proto"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// Get implements pb.GatewayServiceServer.
func (s service) Get(ctx context.Context, r *pb.GetRequest) (*pb.GetResponse, error) {
	return get(s.session(ctx), r)
}

// Describe implements pb.GatewayServiceServer.
func (s service) Describe(ctx context.Context, r *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	return describe(s.session(ctx), r)
}

// A page is an answer that grows entry by entry until it is full. Its entries
// are written by package proto, the one place that knows how nouns look on the wire.
type page struct {
	most    uint32 // entries, or 0
	body    []byte
	entries uint32
	full    bool
}

// add appends an entry, unless the page is full with what it has.
func (p *page) add(appendTo func([]byte) ([]byte, error)) error {
	if p.most > 0 && p.entries == p.most {
		p.full = true
		return nil
	}
	before := len(p.body)
	body, err := appendTo(p.body)
	if err != nil {
		return err
	}
	if p.body = body; len(body) > pageBytes && p.entries > 0 {
		p.body, p.full = body[:before], true
		return nil
	}
	p.entries++
	return nil
}

func get(session gateway.Session, r *pb.GetRequest) (*pb.GetResponse, error) {
	p := page{most: r.GetPageSize()}
	entry := func(a *gateway.Attribute) error {
		return p.add(func(b []byte) ([]byte, error) { return wire.AppendAttribute(b, a, r.GetDescriptors()) })
	}
	var next string
	var err error
	switch {
	case len(r.GetPaths()) == 0:
		next, err = p.list(session, r.GetMatch(), r.GetPageToken(), entry)
	case r.GetMatch() != "":
		err = malformed("match", "a request has paths or a pattern, not both")
	default:
		next, err = p.named(session, r.GetPaths(), r.GetPageToken(), entry)
	}
	if err != nil {
		return nil, err
	}
	answer := &pb.GetResponse{}
	if err := proto.Unmarshal(p.body, answer); err != nil {
		return nil, err
	}
	answer.NextPageToken = next
	return answer, nil
}

// named adds the attributes that are named. The token is the number of those
// that earlier pages had.
func (p *page) named(session gateway.Session, paths []string, token string, entry func(*gateway.Attribute) error) (next string, err error) {
	first := 0
	if token != "" {
		if first, err = strconv.Atoi(token); err != nil || first < 0 || first >= len(paths) {
			return "", malformed("page_token", "%q does not continue this request", gateway.Quotable(token))
		}
	}
	for i, path := range paths[first:] {
		a, err := session.Get(gateway.Path(path))
		if err == nil {
			err = entry(a)
		}
		if err != nil {
			return "", about(path, blame("paths", err))
		}
		if p.full {
			return strconv.Itoa(first + i), nil
		}
	}
	return "", nil
}

// list adds what a pattern selects. The token is the path of the last one that
// earlier pages had.
func (p *page) list(session gateway.Session, match, token string, entry func(*gateway.Attribute) error) (next string, err error) {
	pattern, err := patternOf(match)
	if err != nil {
		return "", blame("match", err)
	}
	after := gateway.Path(token)
	if token != "" {
		if _, err := gateway.ParsePath(token); err != nil {
			return "", malformed("page_token", "%q does not continue this request", gateway.Quotable(token))
		}
	}
	for {
		attributes, more := session.List(pattern, after, pageEntries)
		for _, a := range attributes {
			if err := entry(a); err != nil {
				return "", err
			}
			if p.full {
				return string(after), nil
			}
			after = a.Path
		}
		if !more {
			return "", nil
		}
	}
}

// patternOf reads a pattern, of which the empty one is all.
func patternOf(text string) (gateway.Pattern, error) {
	if text == "" {
		return gateway.MatchAll, nil
	}
	return gateway.ParsePattern(text)
}

func describe(session gateway.Session, r *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	p := page{most: r.GetPageSize()}
	next, err := p.list(session, r.GetMatch(), r.GetPageToken(), func(a *gateway.Attribute) error {
		return p.add(func(b []byte) ([]byte, error) { return wire.AppendDescriptor(b, a.Descriptor) })
	})
	if err != nil {
		return nil, err
	}
	if r.GetPageToken() == "" {
		for _, d := range session.Devices() {
			if !selects(r.GetMatch(), d.Name) {
				continue
			}
			if p.body, err = wire.AppendDevice(p.body, d); err != nil {
				return nil, err
			}
		}
	}
	answer := &pb.DescribeResponse{}
	if err := proto.Unmarshal(p.body, answer); err != nil {
		return nil, err
	}
	answer.NextPageToken = next
	return answer, nil
}

// selects reports whether a pattern may select attributes of a device.
func selects(match, device string) bool {
	first, _, _ := strings.Cut(match, ".")
	return first == "" || first == "*" || first == ">" || first == device
}
