package storage

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
)

// A Finder searches records. A [Store] is one, and so is the client of a server. Methods may be called concurrently.
type Finder interface {
	// Find yields the records that match, sorted by time, then by service, then by number. If many records were appended in another order
	// than that of their times, a store may yield some out of order: package segment does beyond 64 MiB of overlapping records. Find ends
	// after Limit records, or with the first error. Records that arrive while it runs are not yielded.
	Find(ctx context.Context, q Query) meanwhile.Stream[logs.Record]

	// Follow yields the matching records that arrive after the call, in the order of arrival, until ctx is canceled. A reader that is
	// too slow gets a [*MissedError] with the number of records that it misses, and then the remaining records; any other error is the last.
	Follow(ctx context.Context, q Query) meanwhile.Stream[logs.Record]

	// Histogram counts the records that match, by level, in n equal intervals from q.Since to q.Until. It may stop early, when it has
	// read as much as its store allows; then Partial is set.
	Histogram(ctx context.Context, q Query, n int) (Histogram, error)

	// Services returns the statistics of all services, sorted by name.
	Services(ctx context.Context) ([]ServiceStats, error)
}

// A Query selects records.
type Query struct {
	Filter filter.Filter // the zero Filter matches all records
	Since  time.Time     // the earliest time of records; zero: from the oldest on
	Until  time.Time     // the end, which is excluded; zero: up to the newest
	Limit  int           // the maximum number of records, which are the newest ones; zero: all
	Newest bool          // the newest record first, instead of the oldest

	// After makes Follow begin earlier: with the stored records of these services that have higher numbers. So a reader that has lost its
	// connection can continue after the last record that it has received.
	After map[string]uint64
}

// A Histogram counts records over time.
type Histogram struct {
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Buckets []Bucket  `json:"buckets"`
	Partial bool      `json:"partial"` // whether more records match than were counted
}

// A Bucket counts the records of one time interval.
type Bucket struct {
	Begin time.Time `json:"begin"`
	Debug int64     `json:"debug"` // records of this level, or of one between it and the next
	Info  int64     `json:"info"`
	Warn  int64     `json:"warn"`
	Error int64     `json:"error"`
}

// ServiceStats has statistics of the stored records of one service.
type ServiceStats struct {
	Service  string    `json:"service"`
	Records  int64     `json:"records"` // the number of stored records
	Bytes    int64     `json:"bytes"`   // on disk
	Raw      int64     `json:"raw"`     // bytes of their encoding, without compression
	First    uint64    `json:"first"`
	Last     uint64    `json:"last"`
	Oldest   time.Time `json:"oldest,omitzero"`
	Newest   time.Time `json:"newest,omitzero"`
	Segments int       `json:"segments"`
	Damaged  int64     `json:"damaged"` // bytes that could not be read and were skipped
	Pruned   int64     `json:"pruned"`  // the number of records that retention has deleted
}

// A Store stores records. Methods may be called concurrently, and return the cause of ctx when it is canceled.
//
// The records of a service are numbered from 1 on without gaps, in the order in which they were stored. Pruning deletes the records with the
// lowest numbers. A service whose records were all pruned may be forgotten; then its numbers start again from 1.
type Store interface {
	Finder

	// Append stores batches, in order. When it returns, they are as durable as the store's sync policy defines, by default on disk. It
	// skips records of a client that it already has: those whose numbers are not above [Store.Last]. Callers must not pass
	// batches of more than [logs.MaxBatch] bytes, or services that [logs.CheckService] refuses. The data of a batch may be changed
	// after Append has returned.
	Append(ctx context.Context, batches ...*logs.Batch) error

	// Last returns the highest number among the records of a client for which Append has returned, even if they were pruned
	// since; zero for an unknown client. A client that has sent nothing for 30 days is forgotten.
	Last(ctx context.Context, client logs.Client) (uint64, error)

	// Read yields the records of a service from a number on, the oldest first, and ends after the newest. It begins at the oldest
	// record if that has a higher number.
	Read(ctx context.Context, service string, from uint64) meanwhile.Stream[logs.Record]

	// Appended returns a channel that is closed when records are appended after the call.
	Appended() <-chan struct{}

	// Sync returns when everything that was appended is on disk, whatever the sync policy.
	Sync(ctx context.Context) error

	// Close syncs and closes the files. Later calls return [logs.ErrClosed].
	Close() error
}

// A MissedError is yielded by Follow, of a [Finder], to a reader that was too slow. It does not end the stream.
type MissedError struct{ Reason string }

// Error returns the reason.
func (e *MissedError) Error() string { return e.Reason }
