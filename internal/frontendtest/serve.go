package frontendtest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// Serve runs serve until stop is called, or until the test ends: it has to return
// nil within Limit then. stop returns what serve returned; it may be called again.
func Serve(tb testing.TB, serve func(context.Context) error) (stop func() error) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx) }()
	stop = func() error {
		cancel()
		select {
		case err := <-done:
			done <- err
			return err
		case <-time.After(Limit):
			return fmt.Errorf("it did not stop within %v", Limit)
		}
	}
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Errorf("Serve: %v", err)
		}
	})
	return stop
}
