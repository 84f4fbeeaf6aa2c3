package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/link"
)

// traceWriteLimit is how long a reader of a trace may take nothing.
const traceWriteLimit = 30 * time.Second

// trace streams every byte of a link, both ways, as text with a line for each
// piece. It goes on until the client hangs up, or for as many seconds as the
// request says. It is on the operations listener, which every deployment has,
// and which is not for the public.
func (p *process) trace(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("link")
	i := slices.IndexFunc(p.lines, func(l *link.Line) bool { return l.Name() == name })
	if i < 0 {
		http.Error(w, fmt.Sprintf("there is no link %q in use; links are: %s", name, strings.Join(p.lineNames(), ", ")), http.StatusNotFound)
		return
	}
	ctx, cancel, err := forSeconds(r.Context(), r.URL.Query().Get("seconds"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	defer cancel()
	w.Header().Set("Content-Type", "text/plain; charset=us-ascii")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	control := http.NewResponseController(w)
	// Whatever say returns ends the trace; the client is gone then, and ctx tells.
	err = follow(ctx, p.lines[i], func(text []byte) error {
		_ = control.SetWriteDeadline(time.Now().Add(traceWriteLimit))
		_, err := w.Write(text)
		return errors.Join(err, control.Flush())
	})
	if !errors.Is(err, link.ErrTraced) {
		return
	}
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
}

// tracing is the part that answers on the bus who asks for the bytes of a line.
// A request has the seconds that it wants, or nothing; what is wrong with it is
// a remark in the trace.
func (p *process) tracing(line *link.Line) serving {
	return serving{func(ctx context.Context) error {
		return p.bus.conn.ServeTraces(ctx, line.Name(), func(ctx context.Context, request string, say func([]byte) error) {
			ctx, cancel, err := forSeconds(ctx, strings.TrimSpace(request))
			if err == nil {
				defer cancel()
				err = follow(ctx, line, say)
			}
			if err != nil {
				_ = say(fmt.Appendf(nil, "# %s\n", err)) // fails if nobody listens
			}
		})
	}}
}

// forSeconds limits a trace to as many seconds as a text says, if it says something.
func forSeconds(ctx context.Context, text string) (context.Context, context.CancelFunc, error) {
	if text == "" {
		return ctx, func() {}, nil
	}
	limit, err := time.ParseDuration(text + "s")
	if err != nil || limit <= 0 {
		return nil, nil, fmt.Errorf("seconds=%s is no time", gateway.Quotable(text))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return ctx, cancel, nil
}

// traceChunk is how much text is said at once, unless one piece has more.
const traceChunk = 64 << 10

// follow says the bytes of a line until ctx ends, which is no error, or say fails.
func follow(ctx context.Context, line *link.Line, say func(text []byte) error) error {
	trace, err := line.Trace()
	if err != nil {
		return err
	}
	defer trace.Close()
	text := fmt.Appendf(nil, "# trace of %s: %s\n", line.Name(), line)
	for {
		if err := say(text); err != nil {
			return err
		}
		pieces, err := trace.Next(ctx)
		if err != nil {
			return nil // it has gone on for as long as was wanted
		}
		text = text[:0]
		for i := range pieces {
			if len(text) > traceChunk {
				if err := say(text); err != nil {
					return err
				}
				text = text[:0]
			}
			text = pieces[i].AppendText(text)
		}
	}
}

func (p *process) lineNames() []string {
	names := make([]string, len(p.lines))
	for i, line := range p.lines {
		names[i] = line.Name()
	}
	return names
}

// traceOptions are the flags of watch that are about a link's bytes.
type traceOptions struct {
	bytes   bool
	save    string
	limit   time.Duration
	address string
}

func (o *traceOptions) flags(c *cobra.Command) {
	flags := c.Flags()
	flags.BoolVar(&o.bytes, "bytes", false, "show every byte of a link, both ways")
	flags.StringVar(&o.save, "save", "", "with --bytes: also write them to this file, which a link can replay")
	flags.DurationVar(&o.limit, "for", 0, "with --bytes: end after this time")
	flags.StringVar(&o.address, "ops", defaultOpsURL, "with --bytes: the gateway's operations listener")
}

// defaultOpsURL is where the operations listener of a gateway on this host is.
const defaultOpsURL = "http://127.0.0.1:9464"

// watch prints the bytes of a link until ctx, the time or the stream ends.
func (o *traceOptions) watch(ctx context.Context, out io.Writer, name string) (err error) {
	path := "/trace/" + url.PathEscape(name)
	if o.limit > 0 {
		path += fmt.Sprintf("?seconds=%g", o.limit.Seconds())
	}
	cl := client{base: o.address}
	response, err := cl.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if o.save != "" {
		file, err := os.Create(o.save)
		if err != nil {
			return usagef("--save: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		out = io.MultiWriter(out, file)
	}
	if _, err := io.Copy(out, response.Body); err != nil {
		return fmt.Errorf("the trace broke: %w", err)
	}
	if o.limit == 0 {
		return errors.New("the gateway ended the trace")
	}
	return nil
}
