package logtest

import (
	"context"
	"errors"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

var followPromises = []promise{
	{"follow yields what comes in, and nothing that was there", func(f *fixture) {
		f.append(Batch("api", logs.Client{}, 1, 10))
		f.follow(storage.Query{Filter: f.filter("service=api")}, 11, 40, 11, func() {
			for first := uint64(11); first < 40; first += 10 {
				f.append(Batch("api", logs.Client{}, first, 10), Batch("web", logs.Client{}, first, 10))
			}
		})
	}},
	{"follow goes on after a number", func(f *fixture) {
		f.append(Batch("api", logs.Client{}, 1, 30))
		f.follow(storage.Query{After: map[string]uint64{"api": 17}}, 18, 40, 18, func() {
			f.append(Batch("api", logs.Client{}, 31, 10))
		})
	}},
	{"follow ends with its ctx", func(f *fixture) {
		ctx, cancel := context.WithCancelCause(f.ctx)
		gone := errors.New("gone")
		cancel(gone)
		for _, err := range f.Follow(ctx, storage.Query{}) {
			if !errors.Is(err, gone) && !errors.Is(err, context.Canceled) {
				f.Errorf("got %v", err)
			}
		}
	}},
	{"who waits is told of what is appended", func(f *fixture) {
		appended := f.Appended()
		select {
		case <-appended:
			f.Fatal("told before anything came")
		default:
		}
		f.append(Batch("api", logs.Client{}, 1, 1))
		select {
		case <-appended:
		case <-f.ctx.Done():
			f.Error("not told")
		}
	}},
}

// follow calls add, and wants the records first to last, numbered from number on, from Follow.
func (f *fixture) follow(q storage.Query, first, last, number uint64, add func()) {
	f.Helper()
	followed := f.Follow(f.ctx, q)
	var got []logs.Record
	err := meanwhile.Run(f.ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, func(context.Context) error {
			for r, err := range followed {
				if err != nil {
					return err
				}
				if got = append(got, r); uint64(len(got)) == last-first+1 {
					return nil
				}
			}
			return errors.New("follow has ended")
		})
		add()
		return nil
	})
	if err != nil {
		f.Errorf("after %d records: %v", len(got), err)
	}
	f.want(got, first, last, number)
}
