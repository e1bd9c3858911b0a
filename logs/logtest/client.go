package logtest

import (
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

var clientPromises = []promise{
	{"what a client sends again is kept once", func(f *fixture) {
		me, other := logs.Client{1}, logs.Client{2}
		f.append(Batch("api", me, 1, 10))
		f.append(Batch("api", me, 1, 10))                          // again
		f.append(Batch("api", me, 6, 10))                          // in part
		f.append(Batch("api", me, 11, 5), Batch("api", me, 16, 5)) // one of two
		f.append(Batch("api", me, 21, 5), Batch("api", me, 21, 5)) // in one call
		for range 2 {
			f.want(f.all(f.Read(f.ctx, "api", 1)), 1, 25, 1)
			f.last(me, 25)
			f.last(other, 0)
			f.reopen()
			f.append(Batch("api", me, 20, 6))
		}
		f.append(Batch("api", other, 1, 3), Batch("web", me, 26, 3))
		f.last(other, 3)
		f.last(me, 28)
		if got := f.find(storage.Query{}); len(got) != 31 {
			f.Errorf("%d records, want 31", len(got))
		}
	}},
	{"records without a client are kept as they come", func(f *fixture) {
		f.append(Batch("api", logs.Client{}, 1, 3))
		f.append(Batch("api", logs.Client{}, 1, 3))
		f.last(logs.Client{}, 0)
		if got := f.find(storage.Query{}); len(got) != 6 {
			f.Errorf("%d records, want 6", len(got))
		}
	}},
	{"numbers of records that were left out count as kept", func(f *fixture) {
		me := logs.Client{1}
		b := Batch("api", me, 1, 3)
		b.Last = 10
		f.append(b)
		f.last(me, 10)
		f.append(b)
		f.append(Batch("api", me, 4, 7)) // all of them known
		f.want(f.all(f.Read(f.ctx, "api", 1)), 1, 3, 1)
	}},
}

func (f *fixture) last(client logs.Client, want uint64) {
	f.Helper()
	if got, err := f.Last(f.ctx, client); err != nil || got != want {
		f.Errorf("last is %d, %v, want %d", got, err, want)
	}
}
