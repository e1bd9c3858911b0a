package logtest

import (
	"context"
	"errors"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

var sumPromises = []promise{
	{"a histogram counts by time and level", func(f *fixture) {
		f.append(Batch("api", logs.Client{}, 1, 1000), Batch("web", logs.Client{}, 1, 100))
		at := func(n int) time.Time { return Epoch.Add(time.Duration(n) * time.Millisecond) }
		for range 2 {
			h, err := f.Histogram(f.ctx, storage.Query{Filter: f.filter("service=api"), Since: at(1), Until: at(1001)}, 10)
			if err != nil || len(h.Buckets) != 10 || h.Partial {
				f.Fatalf("%+v, %v", h, err)
			}
			for i, b := range h.Buckets {
				if b.Info < 89 || b.Info > 91 || b.Warn < 9 || b.Warn > 11 || b.Debug+b.Error != 0 {
					f.Errorf("part %d has %+v, want 90 and 10", i, b)
				}
			}
			for _, all := range []struct {
				q    storage.Query
				n    int
				want int64
			}{{n: 3, want: 1100}, {q: storage.Query{Since: ancient, Until: distant}, n: 1, want: 1100}, {q: storage.Query{Since: ancient, Until: ancient.AddDate(1, 0, 0)}, n: 3}} {
				h, err = f.Histogram(f.ctx, all.q, all.n)
				var sum int64
				for _, b := range h.Buckets {
					sum += b.Debug + b.Info + b.Warn + b.Error
				}
				if err != nil || sum != all.want {
					f.Errorf("%d records are counted, want %d; %v", sum, all.want, err)
				}
			}
			f.reopen()
		}
	}},
	{"services are summed up", func(f *fixture) {
		f.append(Batch("web", logs.Client{}, 1, 10), Batch("api", logs.Client{}, 5, 100))
		f.append(Batch("api", logs.Client{}, 105, 1))
		for range 2 {
			stats, err := f.Services(f.ctx)
			if err != nil || len(stats) != 2 || stats[0].Service != "api" || stats[1].Service != "web" {
				f.Fatalf("got %+v, %v", stats, err)
			}
			api := stats[0]
			oldest, newest := Epoch.Add(5*time.Millisecond), Epoch.Add(105*time.Millisecond)
			if api.Records != 101 || api.First != 1 || api.Last != 101 || !api.Oldest.Equal(oldest) || !api.Newest.Equal(newest) ||
				api.Raw == 0 || api.Bytes == 0 || api.Damaged != 0 || api.Pruned != 0 {
				f.Errorf("got %+v", api)
			}
			f.reopen()
		}
	}},
}

var closePromises = []promise{
	{"sync says that it is on disk", func(f *fixture) {
		f.append(Batch("api", logs.Client{}, 1, 10))
		if err := f.Sync(f.ctx); err != nil {
			f.Error(err)
		}
	}},
	{"calls after close say so", func(f *fixture) {
		if err := f.Close(); err != nil {
			f.Fatal(err)
		}
		_, last := f.Last(f.ctx, logs.Client{1})
		_, services := f.Services(f.ctx)
		_, histogram := f.Histogram(f.ctx, storage.Query{}, 1)
		errs := map[string]error{
			"Append": f.Append(f.ctx, Batch("api", logs.Client{}, 1, 1)), "Last": last, "Services": services, "Histogram": histogram,
			"Sync": f.Sync(f.ctx), "Close": f.Close(),
		}
		for _, err := range f.Find(f.ctx, storage.Query{}) {
			errs["Find"] = err
		}
		for _, err := range f.Read(f.ctx, "api", 1) {
			errs["Read"] = err
		}
		ctx, cancel := context.WithCancel(f.ctx)
		defer cancel()
		for _, err := range f.Follow(ctx, storage.Query{}) {
			errs["Follow"] = err
			break
		}
		for name, err := range errs {
			if !errors.Is(err, logs.ErrClosed) {
				f.Errorf("%s: got %v, want logs.ErrClosed", name, err)
			}
		}
		if len(errs) != 9 {
			f.Errorf("%d calls", len(errs))
		}
	}},
}
