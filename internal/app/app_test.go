package app_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/polygate/gateway/internal/app"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal records what parts do, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, ", ")
}

type part struct {
	name      string
	journal   *journal
	listenErr error
	dies      chan error // a value makes Serve return it
	stopErr   error
}

func (p *part) Listen(context.Context) error {
	if p.listenErr != nil {
		return p.listenErr
	}
	p.journal.add("listen " + p.name)
	return nil
}

func (p *part) Serve(ctx context.Context) error {
	select {
	case err := <-p.dies:
		return err
	case <-ctx.Done():
		p.journal.add("stop " + p.name)
		return p.stopErr
	}
}

func groups(j *journal, parts ...*part) []app.Group {
	var groups []app.Group
	for _, p := range parts {
		p.journal = j
		groups = append(groups, app.Group{Parts: []app.Named{{Name: p.name, Part: p}}})
	}
	return groups
}

func TestGroupsStopInReverseOrder(t *testing.T) {
	var j journal
	ctx, cancel := context.WithCancel(t.Context())
	all := groups(&j, &part{name: "bus"}, &part{name: "hub"}, &part{name: "rest"})
	all[2].Drain = func(context.Context) { j.add("drain") }
	if err := app.Run(ctx, zerolog.Nop(), all, cancel); err != nil {
		t.Fatal(err)
	}
	want := "listen bus, listen hub, listen rest, drain, stop rest, stop hub, stop bus"
	if got := j.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestATakenPortFailsTheStartAndLetsGoOfTheRest(t *testing.T) {
	var j journal
	taken := errors.New("port 8080 is in use")
	err := app.Run(t.Context(), zerolog.Nop(),
		groups(&j, &part{name: "bus"}, &part{name: "rest", listenErr: taken}, &part{name: "ca"}),
		func() { t.Error("ready although a part could not listen") })
	if !errors.Is(err, taken) || !strings.HasPrefix(err.Error(), "rest: ") {
		t.Errorf("got error %v", err)
	}
	if got, want := j.String(), "listen bus, stop bus"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestADeadPartStopsTheProgramWithItsReason(t *testing.T) {
	for _, reason := range []error{errors.New("socket gone"), nil} {
		var j journal
		dying := &part{name: "rest", dies: make(chan error, 1)}
		err := app.Run(t.Context(), zerolog.Nop(), groups(&j, &part{name: "bus"}, dying), func() { dying.dies <- reason })
		if err == nil || !strings.HasPrefix(err.Error(), "rest: ") {
			t.Errorf("part ended with %v: got error %v", reason, err)
		}
		if got, want := j.String(), "listen bus, listen rest, stop bus"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestAPartThatCannotDrainIsNamed(t *testing.T) {
	var j journal
	ctx, cancel := context.WithCancel(t.Context())
	err := app.Run(ctx, zerolog.Nop(), groups(&j, &part{name: "bus"}, &part{name: "rest", stopErr: errors.New("two streams left")}), cancel)
	if err == nil || !strings.Contains(err.Error(), "stopping rest: two streams left") {
		t.Errorf("got error %v", err)
	}
	if got, want := j.String(), "listen bus, listen rest, stop rest, stop bus"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
