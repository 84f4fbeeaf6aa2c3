package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/polygate/gateway/e2e/client"
)

// put puts once, over a new connection.
func put(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	value, err := strconv.ParseInt(q.Get("value"), 10, 64)
	if err != nil {
		http.Error(w, "value is a number", http.StatusBadRequest)
		return
	}
	putter, err := client.DialPutter(r.Context(), q.Get("protocol"), client.At(q.Get("host")))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer putter.Close()
	verdict, err := putter.Put(r.Context(), q.Get("name"), value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	_ = json.NewEncoder(w).Encode(verdict)
}

// A timedPut is a put with its times, in Unix microseconds.
type timedPut struct {
	Value int64 `json:"value"`
	Began int64 `json:"began"`
	Ended int64 `json:"ended"`
}

// puts puts rising numbers one after the other over one connection.
func puts(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	first, err := strconv.ParseInt(q.Get("first"), 10, 64)
	count, err2 := strconv.Atoi(q.Get("count"))
	if err != nil || err2 != nil {
		http.Error(w, "first and count are numbers", http.StatusBadRequest)
		return
	}
	putter, err := client.DialPutter(r.Context(), q.Get("protocol"), client.At(q.Get("host")))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer putter.Close()
	timed := make([]timedPut, count)
	for i := range timed {
		value := first + int64(i)
		began := time.Now().UnixMicro()
		verdict, err := putter.Put(r.Context(), q.Get("name"), value)
		timed[i] = timedPut{Value: value, Began: began, Ended: time.Now().UnixMicro()}
		if err == nil && !verdict.OK() {
			err = fmt.Errorf("%s: %s", verdict.Code, verdict.Words)
		}
		if err != nil {
			http.Error(w, fmt.Sprintf("put %d: %v", i, err), http.StatusBadGateway)
			return
		}
	}
	_ = json.NewEncoder(w).Encode(timed)
}

// load reads an attribute by HTTP from several clients, each at its share of a
// rate, and says in the end how many requests were answered. The head of the
// answer comes when all clients have been answered once.
func load(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	clients, err := strconv.Atoi(q.Get("clients"))
	rate, err2 := strconv.ParseFloat(q.Get("rate"), 64)
	if err != nil || err2 != nil || clients < 1 || rate <= 0 {
		http.Error(w, "clients and rate are numbers", http.StatusBadRequest)
		return
	}
	url := "http://" + client.At(q.Get("host")).REST + "/api/v1/attributes/" + q.Get("name")
	interval := time.Duration(float64(time.Second) * float64(clients) / rate)
	first := make(chan error, clients)
	var all sync.WaitGroup
	defer all.Wait()
	for range clients {
		all.Go(func() { read(r, url, interval, first) })
	}
	for range clients {
		if err := <-first; err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
	}
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// read reads at an interval until the request ends, and says once whether it works.
func read(r *http.Request, url string, interval time.Duration, first chan<- error) {
	httpClient := &http.Client{Transport: &http.Transport{}}
	defer httpClient.CloseIdleConnections()
	get := func() error {
		request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := httpClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", url, response.Status)
		}
		return nil
	}
	err := get()
	first <- err
	if err != nil {
		return
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
			_ = get() // a gateway that answers no more shows elsewhere
		}
	}
}
