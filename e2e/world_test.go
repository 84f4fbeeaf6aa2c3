package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	mobynet "github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/network"
	"github.com/testcontainers/testcontainers-go/wait"
)

// A world is the network of one test with everything on it. It goes with the test.
type world struct {
	t       *testing.T
	docker  *docker
	network *testcontainers.DockerNetwork
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, docker: useDocker(t)}
	var err error
	if w.network, err = network.New(t.Context(), network.WithLabels(labels())); err != nil {
		t.Fatal(err)
	}
	testcontainers.CleanupNetwork(t, w.network)
	return w
}

// A box is a container, known to the others by its name.
type box struct {
	w    *world
	name string
	*testcontainers.DockerContainer
}

// start runs an image under a name and waits until it says that it is ready.
func (w *world) start(name, image, ready string, options ...testcontainers.ContainerCustomizer) *box {
	w.t.Helper()
	options = append([]testcontainers.ContainerCustomizer{
		network.WithNetwork([]string{name}, w.network),
		testcontainers.WithLabels(labels()),
		testcontainers.WithWaitStrategyAndDeadline(limit, wait.ForLog(ready).WithPollInterval(20*time.Millisecond)),
	}, options...)
	c, err := testcontainers.Run(w.t.Context(), w.docker.images[image], options...)
	testcontainers.CleanupContainer(w.t, c, testcontainers.StopTimeout(0))
	b := &box{w: w, name: name, DockerContainer: c}
	w.t.Cleanup(func() {
		if w.t.Failed() && c != nil {
			w.t.Logf("%s said:\n%s", name, b.said())
		}
	})
	if err != nil {
		w.t.Fatalf("starting %s: %v", name, err)
	}
	return b
}

// publish maps a port to one of this host's loopback, the same in all lives of the box.
func (w *world) publish(port string) testcontainers.ContainerCustomizer {
	w.t.Helper()
	here, err := w.docker.freePort()
	if err != nil {
		w.t.Fatal(err)
	}
	return testcontainers.CustomizeRequestOption(func(r *testcontainers.GenericContainerRequest) error {
		r.ExposedPorts = append(r.ExposedPorts, port)
		return testcontainers.WithHostConfigModifier(func(hc *container.HostConfig) {
			hc.PortBindings = mobynet.PortMap{mobynet.MustParsePort(port): {{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: here}}}
		})(r)
	})
}

func (w *world) nats(name string, args ...string) *box {
	w.t.Helper()
	return w.start(name, "nats", "Server is ready", testcontainers.WithCmd(args...))
}

func (w *world) instrument(name string, args ...string) *box {
	w.t.Helper()
	return w.start(name, "instrument", "ready", testcontainers.WithCmd(args...), w.publish("7001/tcp"))
}

// gateway runs a gateway with a file.
func (w *world) gateway(name, file string, options ...testcontainers.ContainerCustomizer) *box {
	w.t.Helper()
	options = append(options,
		testcontainers.WithCmd("run", "-c", "/gateway.yaml"),
		testcontainers.WithFiles(testcontainers.ContainerFile{Reader: strings.NewReader(file), ContainerFilePath: "/gateway.yaml", FileMode: 0o444}))
	return w.start(name, "gateway", "is running\"", options...)
}

// must ends the test on an error.
func (b *box) must(what string, err error) {
	b.w.t.Helper()
	if err != nil {
		b.w.t.Fatalf("%s %s: %v", what, b.name, err)
	}
}

// kill ends the box at once, as a crash would.
func (b *box) kill() {
	b.w.t.Helper()
	_, err := b.w.docker.client.ContainerKill(b.w.t.Context(), b.ID, client.ContainerKillOptions{Signal: "SIGKILL"})
	b.must("killing", err)
	waiting := b.w.docker.client.ContainerWait(b.w.t.Context(), b.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case err := <-waiting.Error:
		b.must("waiting for", err)
	case <-waiting.Result:
	}
}

// stop asks the box to stop and waits until it has.
func (b *box) stop() {
	b.w.t.Helper()
	seconds := int(limit / time.Second)
	_, err := b.w.docker.client.ContainerStop(b.w.t.Context(), b.ID, client.ContainerStopOptions{Timeout: &seconds})
	b.must("stopping", err)
}

// exitCode is that of a box that has stopped.
func (b *box) exitCode() int {
	b.w.t.Helper()
	state, err := b.State(b.w.t.Context())
	b.must("inspecting", err)
	return state.ExitCode
}

// restart starts the box after kill or stop.
func (b *box) restart() {
	b.w.t.Helper()
	_, err := b.w.docker.client.ContainerStart(b.w.t.Context(), b.ID, client.ContainerStartOptions{})
	b.must("starting", err)
}

// pause holds the box as it stands; resume ends that.
func (b *box) pause() {
	b.w.t.Helper()
	_, err := b.w.docker.client.ContainerPause(b.w.t.Context(), b.ID, client.ContainerPauseOptions{})
	b.must("pausing", err)
}

func (b *box) resume() {
	b.w.t.Helper()
	_, err := b.w.docker.client.ContainerUnpause(b.w.t.Context(), b.ID, client.ContainerUnpauseOptions{})
	b.must("resuming", err)
}

// cut pulls the box's network cable: what is sent gets lost, and nobody is told.
// join plugs it in again, under the same name.
func (b *box) cut() {
	b.w.t.Helper()
	_, err := b.w.docker.client.NetworkDisconnect(b.w.t.Context(), b.w.network.ID, client.NetworkDisconnectOptions{Container: b.ID, Force: true})
	b.must("cutting off", err)
}

func (b *box) join() {
	b.w.t.Helper()
	_, err := b.w.docker.client.NetworkConnect(b.w.t.Context(), b.w.network.ID, client.NetworkConnectOptions{
		Container: b.ID, EndpointConfig: &mobynet.EndpointSettings{Aliases: []string{b.name}},
	})
	b.must("joining", err)
}

// said is what the box has written, over all its lives.
func (b *box) said() string {
	ctx, cancel := context.WithTimeout(context.Background(), limit) // also when the test is over
	defer cancel()
	logs, err := b.w.docker.client.ContainerLogs(ctx, b.ID, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		return err.Error()
	}
	defer logs.Close()
	var text strings.Builder
	if _, err := stdcopy.StdCopy(&text, &text, logs); err != nil {
		return err.Error()
	}
	return text.String()
}

// ask sends a request to a published port and returns the answer, whose body the
// caller closes.
func (b *box) ask(ctx context.Context, method, port, path string) (*http.Response, error) {
	mapped, err := b.MappedPort(ctx, port)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("http://127.0.0.1:%d%s", mapped.Num(), path), nil)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		words, _ := io.ReadAll(response.Body)
		return nil, fmt.Errorf("%s %s: %s: %s", b.name, path, response.Status, strings.TrimSpace(string(words)))
	}
	return response, nil
}

// awaitLog waits until the box has said something so many times.
func awaitLog(b *box, text string, times int) error {
	return wait.ForLog(text).WithOccurrence(times).WithPollInterval(20*time.Millisecond).WithStartupTimeout(limit).WaitUntilReady(b.w.t.Context(), b.DockerContainer)
}

// askJSON is ask for an answer in JSON, which must come.
func (b *box) askJSON(method, port, path string, into any) {
	b.w.t.Helper()
	ctx, cancel := context.WithTimeout(b.w.t.Context(), 2*limit)
	defer cancel()
	response, err := b.ask(ctx, method, port, path)
	b.must("asking", err)
	defer response.Body.Close()
	b.must("asking", json.NewDecoder(response.Body).Decode(into))
}
