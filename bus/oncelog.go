package bus

import "github.com/polygate/gateway"

// maxLoggedSubjects bounds what a onceLog remembers.
const maxLoggedSubjects = 256

// onceLog counts messages that cannot be decoded and logs the first of each
// subject. It belongs to one goroutine.
type onceLog struct {
	conn *Conn
	seen map[string]struct{}
}

func newOnceLog(c *Conn) *onceLog { return &onceLog{conn: c, seen: make(map[string]struct{})} }

func (l *onceLog) malformed(subject string, err error) {
	l.conn.stats.malformed.Add(1)
	l.conn.stats.fail(err)
	if _, ok := l.seen[subject]; ok || len(l.seen) >= maxLoggedSubjects {
		return
	}
	l.seen[subject] = struct{}{}
	l.conn.log.Warn().Err(err).Str("subject", gateway.Quotable(subject)).
		Msg("a message on the bus cannot be used; more on this subject are counted only")
}
