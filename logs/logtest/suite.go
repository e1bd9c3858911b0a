package logtest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A promise is a part of the contract of stores, and the test of it.
type promise struct {
	name string
	test func(f *fixture)
}

var contract = slices.Concat(appendPromises, clientPromises, findPromises, followPromises, sumPromises, closePromises)

// TestStore tests that a store does what [storage.Store] promises, each part in a test of its own. open opens the store in a directory;
// it gets the ctx of a task, and is called again for the same directory after the store there was closed.
func TestStore(t *testing.T, open func(ctx context.Context, dir string) (storage.Store, error)) {
	for _, p := range contract {
		t.Run(p.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := meanwhile.Run(ctx, func(ctx context.Context) error {
				f := &fixture{T: t, ctx: ctx, dir: t.TempDir(), open: open}
				f.reopen()
				p.test(f)
				if err := f.Close(); err != nil && !errors.Is(err, logs.ErrClosed) {
					t.Errorf("close: %v", err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// patience is how long a test waits for what should happen soon.
const patience = time.Minute

// A fixture is a test of one promise, with its store.
type fixture struct {
	*testing.T
	storage.Store
	ctx  context.Context
	dir  string
	open func(ctx context.Context, dir string) (storage.Store, error)
}

// reopen closes the store, if there is one, and opens it again.
func (f *fixture) reopen() {
	f.Helper()
	if f.Store != nil {
		if err := f.Close(); err != nil {
			f.Fatalf("close: %v", err)
		}
	}
	var err error
	if f.Store, err = f.open(f.ctx, f.dir); err != nil {
		f.Fatalf("open: %v", err)
	}
}

func (f *fixture) append(batches ...*logs.Batch) {
	f.Helper()
	if err := f.Append(f.ctx, batches...); err != nil {
		f.Fatalf("append: %v", err)
	}
}

// all returns the records of a stream.
func (f *fixture) all(stream meanwhile.Stream[logs.Record]) []logs.Record {
	f.Helper()
	records, err := meanwhile.Collect(stream)
	if err != nil {
		f.Errorf("after %d records: %v", len(records), err)
	}
	return records
}

func (f *fixture) find(q storage.Query) []logs.Record {
	f.Helper()
	return f.all(f.Find(f.ctx, q))
}

// filter parses a filter.
func (f *fixture) filter(text string) filter.Filter {
	f.Helper()
	filter, err := filter.Parse(text)
	if err != nil {
		f.Fatal(err)
	}
	return filter
}

// want compares records with the messages of [Batch] numbered first to last, and their numbers with those from number on.
func (f *fixture) want(records []logs.Record, first, last, number uint64) {
	f.Helper()
	if n := last - first + 1; uint64(len(records)) != n {
		f.Errorf("got %d records, want %d", len(records), n)
		return
	}
	for i := range records {
		if got, want := records[i].Message, Message(first+uint64(i)); got != want {
			f.Errorf("record %d: got %q, want %q", i, got, want)
			return
		}
		if got, want := records[i].Number, number+uint64(i); got != want {
			f.Errorf("record %d has number %d, want %d", i, got, want)
			return
		}
	}
}
