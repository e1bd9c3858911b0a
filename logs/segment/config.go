package segment

import (
	"cmp"
	"log/slog"
	"time"
)

// A Config says how a [Store] keeps records. The zero Config is a good one.
type Config struct {
	// Sync says what Append waits for; zero: [Always].
	Sync Sync

	// SyncEvery is the time between syncs with [Interval]; zero: a second.
	SyncEvery time.Duration

	// JournalBytes and JournalAge say when the journal is closed and turned into segments: when it has as many bytes, zero:
	// 128 MiB, or is as old, zero: an hour; and at midnight, UTC.
	JournalBytes int64
	JournalAge   time.Duration

	// Backlog is how many bytes of closed journals may wait to be turned, zero: 2 GiB. While there are more, Append waits.
	Backlog int64

	// Retention says what is kept of services that are not in Services.
	Retention Retention

	// Services says what is kept of some services, by their names, or by their beginnings with a * behind, of which the longest
	// counts. What is zero is as in Retention.
	Services map[string]Retention

	// Bytes is how much is kept on disk of all services together, zero: 10 GiB, negative: without a limit. The oldest
	// segments of whatever service are deleted first. A segment counts by whole blocks of 4 KiB.
	Bytes int64

	// Logger gets what happens unasked: journals that were cut, damage, failures in the background. Nil: slog.Default().
	Logger *slog.Logger
}

// A Retention says what is kept of a service. What exceeds it is deleted by whole segments, soon.
type Retention struct {
	Age   time.Duration // since it was stored; zero: 30 days, negative: without a limit
	Bytes int64         // on disk; zero or negative: without a limit of its own
}

// Sync says what Append waits for.
type Sync int

const (
	Always   Sync = iota // until it is on disk: a loss of power takes nothing that Append returned for
	Interval             // not at all: a loss of power takes what came since the last sync, a killed process nothing
	OS                   // not at all: a loss of power takes what the system has not written yet, half a minute as a rule
)

func (c Config) withDefaults() Config {
	c.SyncEvery = cmp.Or(c.SyncEvery, time.Second)
	c.JournalBytes = cmp.Or(c.JournalBytes, 128<<20)
	c.JournalAge = cmp.Or(c.JournalAge, time.Hour)
	c.Backlog = cmp.Or(c.Backlog, 2<<30)
	c.Bytes = cmp.Or(c.Bytes, 10<<30)
	c.Retention.Age = cmp.Or(c.Retention.Age, 30*24*time.Hour)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// retention returns what is kept of a service.
func (c *Config) retention(service string) Retention {
	r, ok := c.Services[service]
	for n := len(service); n > 0 && !ok; n-- {
		r, ok = c.Services[service[:n]+"*"]
	}
	return Retention{Age: cmp.Or(r.Age, c.Retention.Age), Bytes: cmp.Or(r.Bytes, c.Retention.Bytes)}
}
