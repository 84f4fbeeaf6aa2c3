package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/polygate/gateway/e2e/client"
)

// watch follows one protocol and streams what it sees, or of the samples only
// those of one name. A client that is cut off comes again.
func watch(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	events := make(chan client.Event, 1024)
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() {
		only := q.Get("only")
		client.Follow(ctx, q.Get("protocol"), client.At(q.Get("host")), q["name"], func(e client.Event) {
			if only != "" && e.Kind == client.Shown && e.Name != only {
				return
			}
			select {
			case events <- e:
			case <-ctx.Done():
			}
		})
	})
	encoder, flusher := json.NewEncoder(w), http.NewResponseController(w)
	if flusher.Flush() != nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			err := encoder.Encode(e)
			if len(events) == 0 && err == nil {
				err = flusher.Flush()
			}
			if err != nil {
				cancel() // so that the others need not wait
				return
			}
		}
	}
}

// collect sees a number of samples by each protocol, without any traffic of its
// own meanwhile. Samples that were known before do not count.
func collect(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	count, err := strconv.Atoi(q.Get("count"))
	if err != nil || count < 1 {
		http.Error(w, "count is a number", http.StatusBadRequest)
		return
	}
	protocols := q["protocol"]
	seen, errs := make([][]client.Event, len(protocols)), make([]error, len(protocols))
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var all sync.WaitGroup
	for i, protocol := range protocols {
		all.Go(func() {
			seen[i], errs[i] = collectOne(ctx, protocol, client.At(q.Get("host")), q.Get("name"), count)
			if errs[i] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	for i, err := range errs {
		if err != nil && ctx.Err() == nil {
			http.Error(w, fmt.Sprintf("%s: %v", protocols[i], err), http.StatusBadGateway)
			return
		}
	}
	answer := map[string][]client.Event{}
	for i, protocol := range protocols {
		answer[protocol] = seen[i]
	}
	_ = json.NewEncoder(w).Encode(answer) // a test that has gone is not interested
}

func collectOne(ctx context.Context, protocol string, at client.Target, name string, count int) ([]client.Event, error) {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	seen, synced := make([]client.Event, 0, count), false
	err := client.Watch(ctx, protocol, at, []string{name}, func(e client.Event) {
		switch {
		case e.Kind == client.Synced:
			synced = true
		case e.Kind == client.Shown && synced && len(seen) < count:
			if seen = append(seen, e); len(seen) == count {
				enough()
			}
		}
	})
	if len(seen) < count {
		return nil, fmt.Errorf("only %d of %d samples came: %w", len(seen), count, err)
	}
	return seen, nil
}
