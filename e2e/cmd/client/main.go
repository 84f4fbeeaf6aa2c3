// Command client is a client of every protocol in a container of its own, for
// tests that tell it over HTTP what to do:
//
//	GET  /watch?protocol=&host=&name=...&only=     what it sees, a line of JSON each, until the request ends
//	GET  /collect?protocol=...&host=&name=&count=  the same of several protocols at once, when each has seen so many
//	POST /put?protocol=&host=&name=&value=         puts and answers with the verdict
//	POST /puts?protocol=&host=&name=&first=&count= puts one after the other, and tells when each began and ended
//	POST /load?host=&name=&clients=&rate=          reads by HTTP at a fixed rate until the request ends
//
// The request's end ends what it asked for.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	listen := flag.String("listen", ":9000", "where to be told what to do")
	flag.Parse()
	if err := run(*listen); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(listen string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /watch", watch)
	mux.HandleFunc("GET /collect", collect)
	mux.HandleFunc("POST /put", put)
	mux.HandleFunc("POST /puts", puts)
	mux.HandleFunc("POST /load", load)
	server := &http.Server{
		Addr: listen, Handler: mux, ReadHeaderTimeout: 5 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	fmt.Fprintln(os.Stdout, "ready")
	if err := server.ListenAndServe(); ctx.Err() == nil {
		return err
	}
	return nil
}
