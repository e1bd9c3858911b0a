package storage

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
)

// A Finder finds records. A [Store] is one, and so is the client of a server. Methods may be called concurrently.
type Finder interface {
	// Find yields the records that match by their times; those of one time by service, and of one service by their
	// numbers. Where very much overlaps that came in another order, a store may yield records out of order: package segment does beyond
	// 64 MiB of them. It ends after Limit records, or with the first error. Records that arrive meanwhile are not yielded.
	Find(ctx context.Context, q Query) meanwhile.Stream[logs.Record]

	// Follow yields matching records that arrive from now on, in the order of arrival, until ctx is canceled. A reader that is
	// too slow gets an error that says how many it misses, and then the rest.
	Follow(ctx context.Context, q Query) meanwhile.Stream[logs.Record]

	// Histogram counts the records that match, in n equal intervals from q.Since to q.Until and by level. It may stop early, at
	// the bound of what it reads, and reports so.
	Histogram(ctx context.Context, q Query, n int) (Histogram, error)

	// Services returns what is kept, by service, sorted by name.
	Services(ctx context.Context) ([]ServiceStats, error)
}

// A Query selects records.
type Query struct {
	Filter filter.Filter // which; the zero Filter matches all
	Since  time.Time     // not before; zero: from the oldest on
	Until  time.Time     // before; zero: up to the newest
	Limit  int           // at most so many, the newest ones; zero: all
	Newest bool          // the newest first, instead of the oldest

	// After makes Follow begin earlier: with the stored records of these services that have higher numbers. A reader that lost
	// its connection continues this way where it was.
	After map[string]uint64
}

// A Histogram counts records over time.
type Histogram struct {
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Buckets []Bucket  `json:"buckets"`
	Partial bool      `json:"partial"` // more records match than were counted
}

// A Bucket counts the records of one time interval.
type Bucket struct {
	Begin time.Time `json:"begin"`
	Debug int64     `json:"debug"` // of this level, or between it and the next
	Info  int64     `json:"info"`
	Warn  int64     `json:"warn"`
	Error int64     `json:"error"`
}

// ServiceStats describes what is kept of one service.
type ServiceStats struct {
	Service  string    `json:"service"`
	Records  int64     `json:"records"` // that are kept
	Bytes    int64     `json:"bytes"`   // on disk
	Raw      int64     `json:"raw"`     // of their encoding
	First    uint64    `json:"first"`
	Last     uint64    `json:"last"`
	Oldest   time.Time `json:"oldest,omitzero"`
	Newest   time.Time `json:"newest,omitzero"`
	Segments int       `json:"segments"`
	Damaged  int64     `json:"damaged"` // bytes that could not be read and were skipped
	Pruned   int64     `json:"pruned"`  // records that retention has deleted
}

// A Store keeps records. Methods may be called concurrently, and return when ctx is canceled, with its cause.
//
// The records of a service are numbered from 1 on without gaps, in the order in which they were stored. Pruning removes the
// lowest numbers. A service whose records were all pruned may be forgotten, and its numbers then begin anew.
type Store interface {
	Finder

	// Append stores batches, in order. When it returns, they are as safe as the store's sync policy says; by default on disk. It
	// skips records of a client that it already has: those whose numbers are not above [Store.Last]. Callers must not pass
	// batches of more than [logs.MaxBatch] bytes or services that [logs.CheckService] refuses. The data of a batch may be changed
	// after Append has returned.
	Append(ctx context.Context, batches ...*logs.Batch) error

	// Last returns the highest number among the records of a client that Append has returned for, even if they have been pruned
	// since; zero for an unknown client. A client that has sent nothing for 30 days is forgotten.
	Last(ctx context.Context, client logs.Client) (uint64, error)

	// Read yields the records of a service from a number on, the oldest first, and ends after the newest. It begins at the oldest
	// record if that has a higher number.
	Read(ctx context.Context, service string, from uint64) meanwhile.Stream[logs.Record]

	// Appended returns a channel that is closed when something has been appended after the call.
	Appended() <-chan struct{}

	// Sync returns when everything that was appended is on disk, whatever the sync policy.
	Sync(ctx context.Context) error

	// Close syncs and closes the files. Later calls return ErrClosed.
	Close() error
}
