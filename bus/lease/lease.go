package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/polygate/gateway/bus"
)

// DefaultLength leaves half of the ten seconds in which another process is to
// have taken over for all else that this takes.
const DefaultLength = 5 * time.Second

const (
	// parts of a lease's length: it is renewed after one, and the holder stops
	// one before others may take it.
	parts = 5
	// bucket is where leases are kept.
	bucket = "polygate-leases"
	// bucketReplicas is how many servers of a cluster keep the bucket.
	bucketReplicas = 3
)

// Options say which lease it is.
type Options struct {
	// Prefix is that of the bus's subjects: who cannot hear each other does not
	// share leases.
	Prefix string
	Name   string
	// Length is how long the lease lasts without being renewed; 0 means
	// DefaultLength. It must be the same for all.
	Length time.Duration
	Log    zerolog.Logger
}

// Errors that say why there is no lease.
var (
	errNotHeld    = errors.New("another process may hold the lease")
	errNotRenewed = errors.New("the lease could not be renewed in time")
	errStopping   = errors.New("the lease was given back")
)

// A Lease is this process's part in a lease: its holder, or one that stands by.
// It is safe for use by several goroutines.
type Lease struct {
	conn     func() *bus.Conn
	opts     Options
	key      string
	identity string // of this process, in the record

	mu      sync.Mutex
	held    context.Context // ends when the lease is lost; nil while it is not held
	lose    context.CancelCauseFunc
	changed chan struct{} // closed and replaced when held begins
	term    uint64        // of the last tenure
	renewed time.Time     // when the last confirmed renewal was sent
	expiry  *time.Timer   // of the tenure; nil before the first
	status  Status
}

// Status is what is known of the lease.
type Status struct {
	Name   string    `json:"name"`
	Held   bool      `json:"held"`
	Holder string    `json:"holder,omitempty"` // who holds it, as far as is known
	Since  time.Time `json:"since"`            // when this process got or lost it
	// Fault is why the record can be neither read nor written, or empty.
	Fault string `json:"fault,omitempty"`
}

// New makes the part. It does nothing, and does not ask for the connection,
// before Listen and Serve.
func New(conn func() *bus.Conn, opts Options) *Lease {
	if opts.Length == 0 {
		opts.Length = DefaultLength
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Lease{
		conn: conn, opts: opts,
		key:      opts.Prefix + "." + opts.Name,
		identity: host + "/" + rand.Text()[:8],
		changed:  make(chan struct{}),
		status:   Status{Name: opts.Name, Since: time.Now().UTC()},
	}
}

// Listen fails if NATS is there and will never keep a lease. If it is away that
// may change.
func (l *Lease) Listen(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.patience())
	defer cancel()
	link, err := l.conn().Connected(ctx)
	if err != nil {
		return nil // Serve goes on trying, as all else does without NATS
	}
	_, err = l.open(link)
	for _, never := range []error{nats.ErrNoResponders, jetstream.ErrJetStreamNotEnabled, jetstream.ErrJetStreamNotEnabledForAccount} {
		if errors.Is(err, never) {
			return fmt.Errorf("the lease %s (bus.lease) is kept in JetStream, which this NATS does not have for us: %w", l.opts.Name, err)
		}
	}
	return nil
}

// patience is how long one request to NATS may take.
func (l *Lease) patience() time.Duration { return l.opts.Length / parts }

// reach is how long after the last renewal its holder may go by it.
func (l *Lease) reach() time.Duration { return l.opts.Length - l.opts.Length/parts }

// open returns the bucket, and makes it if there is none. Where its rights do
// not allow that, somebody else has to.
func (l *Lease) open(ctx context.Context) (jetstream.KeyValue, error) {
	js, err := l.conn().JetStream()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.patience())
	defer cancel()
	kv, err := js.KeyValue(ctx, bucket)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return kv, err
	}
	config := jetstream.KeyValueConfig{Bucket: bucket, Description: "who may talk to instruments", Replicas: bucketReplicas}
	if kv, err = js.CreateKeyValue(ctx, config); err == nil {
		return kv, nil
	}
	config.Replicas = 1 // all that one server alone can do
	kv, err = js.CreateKeyValue(ctx, config)
	if errors.Is(err, jetstream.ErrBucketExists) {
		return js.KeyValue(ctx, bucket)
	}
	return kv, err
}

// Await waits until this process holds the lease. Held ends when it does not any
// more, with the reason as its cause. The term is higher than that of every
// tenure before. The error is that of ctx.
func (l *Lease) Await(ctx context.Context) (held context.Context, term uint64, err error) {
	for {
		l.mu.Lock()
		held, term, changed := l.held, l.term, l.changed
		l.mu.Unlock()
		if held != nil {
			return held, term, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
}

// Check is asked before something is said to an instrument. It returns until
// when that must have been said, or an error if it must not be.
func (l *Lease) Check() (until time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		return time.Time{}, errNotHeld
	}
	if passed(l.renewed, l.reach()) {
		l.loseLocked(errNotRenewed)
		return time.Time{}, errNotRenewed
	}
	return l.renewed.Add(l.reach()), nil
}

// passed reports whether d has passed since start by either clock.
func passed(start time.Time, d time.Duration) bool {
	now := time.Now()
	return now.Sub(start) >= d || now.Round(0).Sub(start.Round(0)) >= d
}

// Status returns what is known now.
func (l *Lease) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status
}

// extend makes this process the holder, or lets it remain so, by a renewal that
// was sent at a certain time and confirmed since.
func (l *Lease) extend(sent time.Time, term uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if passed(sent, l.reach()) {
		return // the confirmation came too late to be of use
	}
	l.renewed = sent
	if l.expiry == nil {
		l.expiry = time.AfterFunc(time.Until(sent.Add(l.reach())), l.expire)
	} else {
		l.expiry.Reset(time.Until(sent.Add(l.reach())))
	}
	if l.held != nil {
		return
	}
	l.term = term
	l.held, l.lose = context.WithCancelCause(context.Background())
	close(l.changed)
	l.changed = make(chan struct{})
	l.status.Held, l.status.Holder, l.status.Since = true, l.identity, time.Now().UTC()
	l.opts.Log.Info().Str("lease", l.opts.Name).Msg("holding the lease")
}

// expire looks whether the tenure is over when it may be.
func (l *Lease) expire() { _, _ = l.Check() }

func (l *Lease) holding() bool {
	_, err := l.Check()
	return err == nil
}

func (l *Lease) lost(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		l.loseLocked(cause)
	}
}

func (l *Lease) loseLocked(cause error) {
	l.lose(cause)
	l.held = nil
	l.expiry.Stop()
	l.status.Held, l.status.Holder, l.status.Since = false, "", time.Now().UTC()
	level := zerolog.WarnLevel
	if errors.Is(cause, errStopping) {
		level = zerolog.InfoLevel
	}
	l.opts.Log.WithLevel(level).Str("lease", l.opts.Name).Err(cause).Msg("not holding the lease any more")
}

// heldBy notes who has it.
func (l *Lease) heldBy(holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.status.Held && holder != l.status.Holder {
		l.status.Holder = holder
		if holder != "" && holder != l.identity {
			l.opts.Log.Info().Str("lease", l.opts.Name).Str("holder", holder).Msg("standing by")
		}
	}
}

// fault notes whether the record can be read and written, and logs news.
func (l *Lease) fault(err error) {
	words := ""
	if err != nil {
		words = err.Error()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if words == l.status.Fault {
		return
	}
	l.status.Fault = words
	if err != nil {
		l.opts.Log.Warn().Str("lease", l.opts.Name).Err(err).Msg("the lease cannot be read or written")
	}
}
