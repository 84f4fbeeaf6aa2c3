//go:build linux

package main

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// floorStreams counts as the gateway's counters do, and writes each number to all
// who follow it from one loop, as an event of the same length. There is no less
// that a server of event streams can do.
func floorStreams(listener net.Listener) error {
	counters := map[string]*bareCounter{}
	for name, period := range map[string]time.Duration{
		"FAST.CALC00000": time.Millisecond, "MEDIUM.CALC00000": 10 * time.Millisecond, "SLOW.CALC00000": 100 * time.Millisecond,
	} {
		counters[name] = &bareCounter{name: name}
		go counters[name].count(period)
	}
	return (&http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counter := counters[r.URL.Query().Get("match")]
		if counter == nil {
			http.NotFound(w, r)
			return
		}
		client, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		if _, err := client.Write([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n")); err != nil {
			_ = client.Close()
			return
		}
		counter.add(client)
	})}).Serve(listener)
}

// A bareCounter is one number and who follows it.
type bareCounter struct {
	name    string
	mu      sync.Mutex
	clients []net.Conn
}

func (c *bareCounter) add(client net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients = append(c.clients, client)
}

func (c *bareCounter) count(period time.Duration) {
	for n := 0; ; n++ {
		event := fmt.Appendf(nil, "event: sample\nid: 3w5e11264sgsf-%x\ndata: {\"event\":\"sample\",\"name\":%q,\"role\":\"readback\","+
			"\"value\":%d,\"time\":%q,\"alarm\":{\"severity\":\"MINOR\",\"status\":\"HIGH\",\"text\":\"a counter is always in alarm\"},\"seq\":%d}\n\n",
			n, c.name, n, time.Now().UTC().Format(time.RFC3339Nano), 1796078400000000+n)
		c.send(event)
		<-time.After(period)
	}
}

// send writes to all clients and forgets those that have gone.
func (c *bareCounter) send(event []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.clients[:0]
	for _, client := range c.clients {
		if _, err := client.Write(event); err != nil {
			_ = client.Close()
			continue
		}
		kept = append(kept, client)
	}
	clear(c.clients[len(kept):])
	c.clients = kept
}
