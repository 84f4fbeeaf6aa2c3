package link_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/link/linktest"
)

// inOrder holds the line until all requests wait, and returns who ran when.
func inOrder(t *testing.T, l *link.Line, holder *link.User, ask []func(run func(*link.Conn) error) error, names []string) []string {
	t.Helper()
	var mu sync.Mutex
	var order []string
	var all sync.WaitGroup
	err := l.Do(context.Background(), holder, link.Poll, func(*link.Conn) error {
		for i, do := range ask {
			all.Go(func() {
				if err := do(func(*link.Conn) error {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, names[i])
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // Until it has queued.
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all.Wait()
	return order
}

func TestTurnsArePriorityThenFair(t *testing.T) { synctest.Test(t, turnsArePriorityThenFair) }

func turnsArePriorityThenFair(t *testing.T) {
	l, w, _ := pipeLine(t, linktest.Faults{})
	users := map[string]*link.User{}
	for _, name := range []string{"a", "b", "c"} {
		users[name] = l.NewUser(name, link.UserOptions{})
	}
	names := []string{"a1", "a2", "a3", "b1", "b2", "c1", "c2 put", "a4 put", "b3 urgent"}
	var ask []func(func(*link.Conn) error) error
	for _, n := range names {
		prio := link.Poll
		switch {
		case strings.HasSuffix(n, "put"):
			prio = link.Put
		case strings.HasSuffix(n, "urgent"):
			prio = link.Urgent
		}
		ask = append(ask, func(f func(*link.Conn) error) error {
			return l.Do(context.Background(), users[n[:1]], prio, f)
		})
	}
	got := inOrder(t, l, w.User, ask, names)
	want := []string{"b3 urgent", "c2 put", "a4 put", "b1", "c1", "a1", "b2", "a2", "a3"}
	if !slices.Equal(got, want) {
		t.Errorf("ran  %q\nwant %q", got, want)
	}
}

func TestOneExchangeAtATime(t *testing.T) {
	l, _, dev := pipeLine(t, linktest.Faults{})
	go echo(dev)
	var inside atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		u := l.NewUser(fmt.Sprint(i), link.UserOptions{})
		all.Go(func() {
			for k := range 50 {
				text := fmt.Sprintf("%d-%d\n", i, k)
				err := l.Do(context.Background(), u, link.Priority(k%2), func(c *link.Conn) error {
					if inside.Add(1) != 1 {
						t.Error("two at a time")
					}
					defer inside.Add(-1)
					if _, err := c.Write([]byte(text)); err != nil {
						return err
					}
					got, err := line(c, soon())
					if got != text {
						t.Errorf("asked %q, got %q", text, got)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
