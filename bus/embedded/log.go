//go:build !nobroker

package embedded

import (
	"fmt"
	"sync"

	"github.com/rs/zerolog"
)

// logger passes on what the server warns of. Its notices are about itself, and
// what matters of them is said by package bus.
type logger struct {
	log zerolog.Logger

	mu        sync.Mutex
	lastFatal error
}

func (l *logger) Noticef(string, ...any) {}
func (l *logger) Debugf(string, ...any)  {}
func (l *logger) Tracef(string, ...any)  {}

func (l *logger) Warnf(format string, args ...any)  { l.log.Warn().Msgf(format, args...) }
func (l *logger) Errorf(format string, args ...any) { l.log.Error().Msgf(format, args...) }

// Fatalf is what the server calls when it cannot start; Start returns it.
func (l *logger) Fatalf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastFatal = fmt.Errorf(format, args...)
}

func (l *logger) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lastFatal == nil {
		return errNotListening
	}
	return l.lastFatal
}
