package logtest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

var appendPromises = []promise{
	{"a batch may be used again", func(f *fixture) {
		b := Batch("api", logs.Client{}, 1, 10)
		f.append(b)
		clear(b.Data)
		for range 2 {
			f.want(f.find(storage.Query{}), 1, 10, 1)
			f.reopen()
		}
	}},
	{"what is appended is read, in order and numbered", func(f *fixture) {
		f.append(Batch("api", logs.Client{}, 1, 100))
		f.append(Batch("api", logs.Client{}, 101, 50), Batch("web", logs.Client{}, 1, 10), Batch("api", logs.Client{}, 151, 50))
		for range 2 {
			f.want(f.all(f.Read(f.ctx, "api", 1)), 1, 200, 1)
			f.want(f.all(f.Read(f.ctx, "api", 0)), 1, 200, 1)
			f.want(f.all(f.Read(f.ctx, "api", 133)), 133, 200, 133)
			f.want(f.all(f.Read(f.ctx, "web", 1)), 1, 10, 1)
			if got := f.all(f.Read(f.ctx, "api", 201)); len(got) != 0 {
				f.Errorf("%d records after the newest", len(got))
			}
			if got := f.all(f.Read(f.ctx, "none", 1)); len(got) != 0 {
				f.Errorf("%d records of a service that does not exist", len(got))
			}
			f.reopen()
		}
		f.append(Batch("api", logs.Client{}, 201, 5))
		f.want(f.all(f.Read(f.ctx, "api", 1)), 1, 205, 1)
	}},
	{"a record comes back as it was", func(f *fixture) {
		want := logs.Record{
			Time: Epoch.Add(7), Level: slog.LevelError + 1, Service: "api", Message: "a\nb\x00\x1b[2J", Task: "main/a", Job: "17", Number: 1,
			Attrs: []slog.Attr{slog.Int("n", -3), slog.Duration("d", time.Second), slog.String("s", "größe"), slog.Bool("ok", true)},
		}
		v := want.View()
		b := &logs.Batch{Service: "api"}
		b.Add(&v)
		data := bytes.Clone(b.Data)
		f.append(b)
		if !bytes.Equal(b.Data, data) {
			f.Error("the batch was changed")
		}
		f.reopen()
		got := f.find(storage.Query{})
		if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			f.Errorf("got  %+v\nwant %+v", got, want)
		}
	}},
	{"names of services are only names", func(f *fixture) {
		names := []string{"../../x", ".", "..", "a/b", "a", "A", "%41", strings.Repeat("ö", 64), strings.Repeat("ö", 63) + "o", "con", "x y"}
		for _, name := range names {
			f.append(Batch(name, logs.Client{}, 1, 3))
		}
		f.reopen()
		for _, name := range names {
			f.want(f.all(f.Read(f.ctx, name, 1)), 1, 3, 1)
		}
		stats, err := f.Services(f.ctx)
		if err != nil {
			f.Fatal(err)
		}
		slices.Sort(names)
		for i := range stats {
			if len(stats) != len(names) || stats[i].Service != names[i] {
				f.Fatalf("got %d services, want %q; the first other one is %q", len(stats), names, stats[i].Service)
			}
		}
	}},
	{"what nobody could keep is refused", func(f *fixture) {
		wrong := Batch("api", logs.Client{}, 1, 3)
		wrong.Count++
		torn := Batch("api", logs.Client{}, 1, 3)
		torn.Data = torn.Data[:len(torn.Data)-1]
		for name, b := range map[string]*logs.Batch{
			"name": Batch("a\x1bb", logs.Client{}, 1, 1), "no name": Batch("", logs.Client{}, 1, 1), "count": wrong, "torn": torn,
			"size": {Service: "api", Count: 1, Data: make([]byte, logs.MaxBatch+1)},
		} {
			if err := f.Append(f.ctx, Batch("api", logs.Client{}, 1, 1), b); err == nil {
				f.Errorf("%s: no error", name)
			}
		}
		if got := f.find(storage.Query{}); len(got) != 0 {
			f.Errorf("%d records were kept of calls that failed", len(got))
		}
	}},
	{"an empty call is one", func(f *fixture) {
		f.append()
		f.append(&logs.Batch{Service: "api"})
		if got := f.find(storage.Query{}); len(got) != 0 {
			f.Errorf("%d records", len(got))
		}
	}},
	{"a canceled call keeps nothing", func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx)
		cancel()
		if err := f.Append(ctx, Batch("api", logs.Client{}, 1, 1)); err == nil {
			f.Error("no error")
		}
		if got := f.find(storage.Query{}); len(got) != 0 {
			f.Errorf("%d records", len(got))
		}
	}},
	{"many at once lose nothing, and keep the order of each", func(f *fixture) {
		const callers, calls, size = 8, 30, 20
		err := meanwhile.Run(f.ctx, func(ctx context.Context) error {
			for caller := range callers {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					client := logs.Client{byte(caller + 1)}
					for call := range calls {
						first := uint64(call*2*size + 1)
						own, shared := Batch(fmt.Sprint("own", caller), client, first, size), Batch("shared", client, first+size, size)
						if err := f.Append(ctx, own, shared); err != nil {
							return err
						}
						if last, err := f.Last(ctx, client); err != nil || last < first+2*size-1 {
							return fmt.Errorf("last is %d after %d was kept: %w", last, first+2*size-1, err)
						}
					}
					return nil
				})
			}
			return nil
		})
		if err != nil {
			f.Fatal(err)
		}
		f.reopen()
		if got := f.all(f.Read(f.ctx, "shared", 1)); len(got) != callers*calls*size || got[len(got)-1].Number != uint64(len(got)) {
			f.Errorf("%d of the shared service", len(got))
		}
		for caller := range callers {
			got := f.all(f.Read(f.ctx, fmt.Sprint("own", caller), 1))
			if len(got) != calls*size || !slices.IsSortedFunc(got, func(a, b logs.Record) int { return a.Time.Compare(b.Time) }) {
				f.Errorf("%d records of caller %d, or not in its order", len(got), caller)
			}
		}
	}},
}
