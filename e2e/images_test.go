package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

// docker is what all tests share: the connection, and the images by name.
type docker struct {
	client *testcontainers.DockerClient
	images map[string]string
	port   atomic.Uint32 // the last that freePort gave
}

// freePort returns a port of this host for a box to be reached at. It is not from
// the range from which the kernel, and Docker, choose: such a port may be taken by
// the time a box joins its network again, which Docker then leaves half done, and
// no second try mends that.
func (d *docker) freePort() (string, error) {
	const first, count = 20000, 10000
	var err error
	for range count {
		port := strconv.Itoa(first + int(d.port.Add(1)%count))
		var free net.Listener
		if free, err = net.Listen("tcp4", "127.0.0.1:"+port); err == nil {
			return port, free.Close()
		}
	}
	return "", fmt.Errorf("no port of this host is free: %w", err)
}

// ownerLabel has the process id of the run that a container belongs to.
const ownerLabel = "polygate.e2e.process"

// haveDocker prepares once, when the first test needs it, so that a run of no
// test builds nothing.
var haveDocker = sync.OnceValues(prepare)

var errNoDocker = errors.New("no Docker")

// useDocker returns what prepare made, or skips the test.
func useDocker(t *testing.T) *docker {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no containers")
	}
	d, err := haveDocker()
	switch {
	case errors.Is(err, errNoDocker) && os.Getenv("POLYGATE_REQUIRE") != "1":
		t.Skipf("%v: install docker.io and start dockerd, or use make e2e as root on Debian", err)
	case err != nil:
		t.Fatal(err)
	}
	return d
}

func prepare() (*docker, error) {
	log.SetDefault(log.NewNoopLogger()) // it tells of every step
	ctx, cancel := context.WithTimeout(context.Background(), 10*limit)
	defer cancel()
	d := &docker{images: map[string]string{}}
	d.port.Store(uint32(os.Getpid())) // runs side by side begin at different ones
	var err error
	if d.client, err = testcontainers.NewDockerClientWithOpts(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoDocker, err)
	}
	if err := d.sweep(ctx); err != nil {
		return nil, err
	}
	return d, d.build(ctx)
}

// sweep removes what runs that were killed have left behind: containers and
// networks of processes that are no more, and images that have been replaced.
func (d *docker) sweep(ctx context.Context) error {
	ours := make(client.Filters).Add("label", ownerLabel)
	containers, err := d.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: ours})
	if err != nil {
		return err
	}
	for i := range containers.Items {
		if c := &containers.Items[i]; orphaned(c.Labels) {
			if _, err := d.client.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
				return err
			}
		}
	}
	networks, err := d.client.NetworkList(ctx, client.NetworkListOptions{Filters: ours})
	if err != nil {
		return err
	}
	for i := range networks.Items {
		if n := &networks.Items[i]; orphaned(n.Labels) {
			if _, err := d.client.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{}); err != nil {
				return err
			}
		}
	}
	_, err = d.client.ImagePrune(ctx, client.ImagePruneOptions{Filters: ours.Clone().Add("dangling", "true")})
	return err
}

func orphaned(labels map[string]string) bool {
	pid, err := strconv.Atoi(labels[ownerLabel])
	return err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

func labels() map[string]string { return map[string]string{ownerLabel: strconv.Itoa(os.Getpid())} }

// program is an image that holds nothing but a program of ours or of a module
// that the gateway builds with.
type program struct{ name, pkg, dockerfile string }

func programs() []program {
	const alone = "FROM scratch\nCOPY program /program\nUSER 65532:65532\nENTRYPOINT [\"/program\"]\n"
	all := []program{
		{"client", "github.com/polygate/gateway/e2e/cmd/client", alone},
		{"instrument", "github.com/polygate/gateway/e2e/cmd/instrument", alone},
		{"gateway", "github.com/polygate/gateway/cmd/gateway", ""},
	}
	if *natsImage == "" {
		all = append(all, program{"nats", "github.com/nats-io/nats-server/v2", alone})
	}
	return all
}

// build builds the images. Their names are fixed, and they stay, so that the
// next run with the same programs finds them made.
func (d *docker) build(ctx context.Context) error {
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		return err
	}
	defer provider.Close()
	d.images["nats"] = *natsImage
	for _, p := range programs() {
		context := filepath.Join("..", ".cache", "e2e", "images", p.name)
		if err := p.compile(ctx, context); err != nil {
			return fmt.Errorf("building %s: %w", p.name, err)
		}
		d.images[p.name], err = provider.BuildImage(ctx, &testcontainers.ContainerRequest{FromDockerfile: testcontainers.FromDockerfile{
			Context: context, Repo: "polygate-e2e-" + p.name, Tag: "latest", KeepImage: true,
			BuildOptionsModifier: func(o *client.ImageBuildOptions) { o.Labels = map[string]string{ownerLabel: "none"} },
		}})
		if err != nil {
			return fmt.Errorf("the image of %s: %w", p.name, err)
		}
	}
	return nil
}

// compile makes the folder that an image is built from: the static program and
// the Dockerfile, for the gateway the one that it is shipped with. The folder
// stays: a program that is up to date is not linked again.
func (p *program) compile(ctx context.Context, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	dockerfile, binary := []byte(p.dockerfile), "program"
	if p.dockerfile == "" {
		var err error
		if dockerfile, err = os.ReadFile("../deploy/Dockerfile.scratch"); err != nil {
			return err
		}
		binary = p.name
	}
	if err := os.WriteFile(filepath.Join(folder, "Dockerfile"), dockerfile, 0o600); err != nil {
		return err
	}
	compile := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", filepath.Join(folder, binary), p.pkg)
	compile.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if output, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return nil
}
