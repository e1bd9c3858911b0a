package segment

import (
	"cmp"
	"log/slog"
	"time"
)

// A Config configures a [Store]. The zero Config is ready to use.
type Config struct {
	// Sync is what Append waits for; zero: [Always].
	Sync Sync

	// SyncEvery is the time between syncs with [Interval]; zero: a second.
	SyncEvery time.Duration

	// JournalBytes and JournalAge set when the journal is closed and converted into segments: when it has that many bytes, zero:
	// 128 MiB, or is that old, zero: an hour; and at midnight, UTC.
	JournalBytes int64
	JournalAge   time.Duration

	// Backlog is how many bytes of closed journals may wait to be converted, zero: 2 GiB. While there are more, Append waits.
	Backlog int64

	// Retention is the retention of services that are not in Services.
	Retention Retention

	// Services sets the retention of some services, by their names, or by prefixes followed by *, of which the longest counts.
	// Zero fields are as in Retention.
	Services map[string]Retention

	// Bytes is how much is kept on disk of all services together, zero: 10 GiB, negative: without a limit. The oldest segments of
	// any service are deleted first. A segment counts by whole blocks of 4 KiB.
	Bytes int64

	// Logger logs background events: journals that were cut, damage, failures in the background. Nil: slog.Default().
	Logger *slog.Logger
}

// A Retention bounds what is kept of a service. What exceeds it is deleted soon, by whole segments.
type Retention struct {
	Age   time.Duration // since it was stored; zero: 30 days, negative: without a limit
	Bytes int64         // on disk; zero or negative: without a limit of its own
}

// Sync is what Append waits for.
type Sync int

const (
	Always   Sync = iota // until it is on disk: a power failure loses nothing that Append returned for
	Interval             // not at all: a power failure loses what came since the last sync, a killed process nothing
	OS                   // not at all: a power failure loses what the system has not written yet, usually half a minute
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
