//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/link/pty"
)

var putThroughLine = measure{
	name: "line-put", title: "REST put through a pseudo-terminal to its verdict (set, acknowledgement, read-back), median latency, over a bare loop with the same exchanges",
	target: "", run: runPutThroughLine,
}

const putFile = `
frontends: {rest: {listen: "127.0.0.1:0"}}
ops: {listen: ""}
links: {line1: {port: %q, baud: 115200}}
devices:
  register:
    driver: serial
    link: line1
    terminator: "\r\n"
    attributes:
      v: {kind: int64, access: rw, read: "V?", reply: "V=%%d", write: "V=%%d", write_reply: "OK"}
`

// A register is an instrument that keeps a number: V=7 sets it, V? asks for it.
type register struct {
	pair *pty.Pair
	done sync.WaitGroup
}

func startRegister() (*register, error) {
	pair, err := pty.Open()
	if err != nil {
		return nil, err
	}
	r := &register{pair: pair}
	r.done.Go(func() {
		value := "0"
		requests := bufio.NewReader(pair)
		for {
			request, err := requests.ReadString('\n')
			if err != nil {
				return
			}
			reply := "OK\r\n"
			if set, ok := strings.CutPrefix(request, "V="); ok {
				value = strings.TrimSpace(set)
			} else {
				reply = "V=" + value + "\r\n"
			}
			if _, err := pair.WriteString(reply); err != nil {
				return
			}
		}
	})
	return r, nil
}

func (r *register) stop() {
	_ = r.pair.Close()
	r.done.Wait()
}

func runPutThroughLine(b *bench) (outcome, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // Instruments and clients have one core.
	ours, err := startRegister()
	if err != nil {
		return outcome{}, err
	}
	defer ours.stop()
	theirs, err := startRegister()
	if err != nil {
		return outcome{}, err
	}
	defer theirs.stop()
	gateway, err := startGateway(b.gateway, fmt.Sprintf(putFile, ours.pair.Path))
	if err != nil {
		return outcome{}, err
	}
	defer gateway.stop()
	if err := gateway.waitFor("register.v"); err != nil {
		return outcome{}, err
	}
	floor, address, err := startFloor("line-put", theirs.pair.Path)
	if err != nil {
		return outcome{}, err
	}
	defer floor.stop()
	bare, err := net.Dial("tcp", address)
	if err != nil {
		return outcome{}, err
	}
	defer bare.Close()

	subject, reference := newRESTPuts(gateway.base+"/api/v1/attributes/register.v"), newBarePuts(bare)
	defer subject.client.CloseIdleConnections()
	r, err := compare(b.pairs,
		func() (float64, error) { return medianOf(subject.put) },
		func() (float64, error) { return medianOf(reference.put) },
	)
	if err != nil {
		return outcome{}, err
	}
	return against(r, nil, fmt.Sprintf("%.0f against %.0f µs", r.Subject, r.Reference)), nil
}

// restPuts puts one number after the other over one connection.
type restPuts struct {
	client   *fasthttp.HostClient
	request  fasthttp.Request
	response fasthttp.Response
	last     int
}

func newRESTPuts(url string) *restPuts {
	host := strings.TrimPrefix(url, "http://")
	host, _, _ = strings.Cut(host, "/")
	p := &restPuts{client: &fasthttp.HostClient{Addr: host, MaxConns: 1}}
	p.request.SetRequestURI(url)
	p.request.Header.SetMethod(fasthttp.MethodPut)
	p.request.Header.SetContentType("application/json")
	return p
}

func (p *restPuts) put() error {
	p.last++
	p.request.SetBodyString(fmt.Sprint(p.last))
	if err := p.client.Do(&p.request, &p.response); err != nil {
		return err
	}
	if p.response.StatusCode() != fasthttp.StatusOK || !bytes.Contains(p.response.Body(), []byte(`"verified"`)) {
		return fmt.Errorf("the put ended with %d %s", p.response.StatusCode(), p.response.Body())
	}
	return nil
}

// barePuts sends numbers to the floor, and waits until each comes back.
type barePuts struct {
	conn  net.Conn
	lines *bufio.Reader
	last  int
}

func newBarePuts(conn net.Conn) *barePuts {
	return &barePuts{conn: conn, lines: bufio.NewReader(conn)}
}

func (p *barePuts) put() error {
	p.last++
	want := fmt.Sprintf("V=%d\r\n", p.last)
	if _, err := io.WriteString(p.conn, want); err != nil {
		return err
	}
	if got, err := p.lines.ReadString('\n'); err != nil || got != want {
		return fmt.Errorf("the floor answered %q: %w", got, err)
	}
	return nil
}

// floorLinePut is the least that a put through a line can do: it passes on what
// its one client sends, waits for the acknowledgement, asks what was set, and
// passes that back.
func floorLinePut(listener net.Listener, port string) error {
	client, err := listener.Accept()
	if err != nil {
		return err
	}
	defer client.Close()
	opened, err := link.Serial{Path: port, Baud: 115200}.Open(context.Background())
	if err != nil {
		return err
	}
	defer opened.Close()
	puts, replies := bufio.NewReader(client), bufio.NewReader(opened)
	for {
		request, err := puts.ReadString('\n')
		if err != nil {
			return err
		}
		var reply string
		for _, request := range []string{request, "V?\r\n"} {
			if _, err := io.WriteString(opened, request); err != nil {
				return err
			}
			if reply, err = replies.ReadString('\n'); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(client, reply); err != nil {
			return err
		}
	}
}
