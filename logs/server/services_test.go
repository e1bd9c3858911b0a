package server_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

const (
	mostServices = 10_000 // that a server keeps apart
	mostFiles    = 1_000  // that it names after services
	moreServices = mostServices + 500
)

func nthService(n int) string { return fmt.Sprintf("service-%05d", n) }

// serve runs a server without listeners while f is called.
func serve(t *testing.T, c server.Config, f func(ctx context.Context, s *server.Server)) {
	t.Helper()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	ready := make(chan struct{})
	c.Ready = func() error { close(ready); return nil }
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		inner, stop := context.WithCancel(ctx)
		defer stop()
		server := meanwhile.Go(ctx, func(context.Context) error { return s.Run(inner) })
		<-ready
		f(ctx, s)
		stop()
		_, err := server.Wait(ctx)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// add adds a record of each service from one number to another.
func add(t *testing.T, ctx context.Context, f input.Batcher, first, after int) {
	t.Helper()
	for n := first; n < after; n++ {
		f.Add(&logs.View{Service: []byte(nthService(n)), Message: []byte("hello"), Level: slog.LevelInfo})
	}
	if err := f.Sync(ctx); err != nil {
		t.Fatal(err)
	}
}

// A client that sends another name with each record does not make more services than a server keeps apart, also after a restart; no
// record is lost for that.
func TestMoreServicesThanAreKeptApart(t *testing.T) {
	dir := t.TempDir()
	open := func(f func(ctx context.Context, store *segment.Store)) {
		t.Helper()
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			store, err := segment.Open(ctx, dir, segment.Config{Sync: segment.OS, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				return err
			}
			f(ctx, store)
			return store.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	others := func(ctx context.Context, store *segment.Store) (names []string) {
		for r, err := range store.Read(ctx, server.OtherServices, 1) {
			if err != nil || len(r.Attrs) != 1 || r.Attrs[0].Key != "from_service" {
				t.Fatalf("record %+v, %v", r, err)
			}
			names = append(names, r.Attrs[0].Value.String())
		}
		return names
	}
	count := func(ctx context.Context, store *segment.Store, want int) {
		t.Helper()
		if all, err := store.Services(ctx); err != nil || len(all) != want {
			t.Errorf("the store has %d services, %v, want %d", len(all), err, want)
		}
	}
	open(func(ctx context.Context, store *segment.Store) {
		serve(t, server.Config{Store: store}, func(ctx context.Context, s *server.Server) {
			f := s.Batcher("test")
			add(t, ctx, f, 0, moreServices)
			add(t, ctx, f, 0, 1)
			stats := s.Stats()
			if got := stats.Services[server.OtherServices].Records; got != moreServices-mostServices {
				t.Errorf("%d records of others", got)
			}
			if len(stats.Services) != mostServices+1 || stats.Services[nthService(0)].Records != 2 || len(stats.Inputs["test"].Refused) > 0 {
				t.Errorf("%d services, %+v, %+v", len(stats.Services), stats.Services[nthService(0)], stats.Inputs)
			}
		})
		count(ctx, store, mostServices+1)
		names := others(ctx, store)
		if len(names) != moreServices-mostServices || names[0] != nthService(mostServices) || names[len(names)-1] != nthService(moreServices-1) {
			t.Errorf("others are %d: %v", len(names), names)
		}
	})
	open(func(ctx context.Context, store *segment.Store) {
		serve(t, server.Config{Store: store}, func(ctx context.Context, s *server.Server) {
			if n := len(s.Stats().Services); n != 0 {
				t.Errorf("%d services before anything came", n)
			}
			f := s.Batcher("test")
			add(t, ctx, f, moreServices, moreServices+10)
			add(t, ctx, f, 0, 1)
		})
		count(ctx, store, mostServices+1)
		if n := len(others(ctx, store)); n != moreServices-mostServices+10 {
			t.Errorf("%d others", n)
		}
	})
}

// A record that is too long, in whatever part, is truncated to what a store accepts: one that it refuses would hold up all that follow.
func TestRecordsFitIntoAStore(t *testing.T) {
	long := bytes.Repeat([]byte("ü"), logs.MaxRecord)
	short := []byte("short")
	const most = logs.MaxRecord - 1024
	attr := func(v logs.View) *logs.View {
		v.AddText([]byte("key"), long)
		return &v
	}
	all := []*logs.View{
		{Message: long},
		{Message: short, Task: long},
		{Message: short, Job: long},
		{Message: long, Task: long, Job: long},
		attr(logs.View{Message: short}), attr(logs.View{Message: long, Task: long, Job: long}),
		{Message: long[:most], Task: long[:2000], Job: long[:2000]},
		{Message: long[:most-8], Task: short, Job: short},
	}
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		for _, most := range []int{0, 64, most} {
			store, err := segment.Open(ctx, t.TempDir(), segment.Config{Sync: segment.OS})
			if err != nil {
				return err
			}
			serve(t, server.Config{Store: store, MaxRecord: most}, func(ctx context.Context, s *server.Server) {
				ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
				defer cancel()
				f := s.Batcher("test")
				for _, service := range []string{"api", strings.Repeat("s", logs.MaxService)} {
					for _, v := range all {
						own := *v
						own.Service = []byte(service)
						f.Add(&own)
					}
				}
				if err := f.Sync(ctx); err != nil {
					t.Errorf("at most %d bytes: %v", most, err)
					return
				}
				n := 0
				for r, err := range store.Read(ctx, "api", 1) {
					if err != nil {
						t.Fatal(err)
					}
					for what, text := range map[string]string{"message": r.Message, "task": r.Task, "job": r.Job} {
						if !utf8.ValidString(text) {
							t.Errorf("at most %d bytes: the %s of record %d is cut within a character", most, what, r.Number)
						}
					}
					if !strings.HasSuffix(r.Message, " bytes more]") {
						t.Errorf("at most %d bytes: record %d does not say that it is cut: %.40q", most, r.Number, r.Message)
					}
					n++
				}
				if cut := s.Stats().Services["api"].Cut; n != len(all) || cut != int64(n) {
					t.Errorf("at most %d bytes: %d of %d records, %d cut", most, n, len(all), cut)
				}
			})
			if err := store.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A client of the own protocol gets acknowledgements by its own numbers, also for a batch that has to be split.
func TestBatchOfAnotherService(t *testing.T) {
	testenv.LongTest(t)
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		store, err := segment.Open(ctx, t.TempDir(), segment.Config{Sync: segment.OS})
		if err != nil {
			return err
		}
		serve(t, server.Config{Store: store}, func(ctx context.Context, s *server.Server) {
			add(t, ctx, s.Batcher("test"), 0, mostServices)
			client := logs.NewClient()
			b := &logs.Batch{Service: strings.Repeat("x", logs.MaxService), Client: client, First: 1}
			for v := (logs.View{Message: []byte("hello")}); b.Count < 100_000; {
				b.Add(&v)
			}
			b.Last = uint64(b.Count)
			a := s.Acceptor()
			for range 2 {
				if err := a.Append(ctx, b); err != nil {
					t.Fatal(err)
				}
			}
			if last, err := store.Last(ctx, client); err != nil || last != b.Last {
				t.Errorf("the last number is %d, %v", last, err)
			}
			n := 0
			for r, err := range store.Read(ctx, server.OtherServices, 1) {
				if err != nil || r.Message != "hello" || r.Attrs[0].Value.String() != b.Service {
					t.Fatalf("record %+v, %v", r, err)
				}
				n++
			}
			if n != b.Count {
				t.Errorf("%d records, want %d", n, b.Count)
			}
			// A record that has no space for the attribute from_service is kept without it.
			large := &logs.Batch{Service: b.Service, Client: client, First: b.Last + 1, Last: b.Last + 1}
			large.Add(&logs.View{Message: make([]byte, logs.MaxRecord-100)})
			if err := a.Append(ctx, large); err != nil {
				t.Error(err)
			}
		})
		return store.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A server has no more files open than it should, however many services there are.
func TestMoreServicesThanFiles(t *testing.T) {
	testenv.LongTest(t)
	dir := t.TempDir()
	const services = mostFiles + 200
	route := server.Route{To: []server.Destination{{File: &linefile.Config{Path: filepath.Join(dir, "{service}.log")}}}}
	serve(t, server.Config{Routes: []server.Route{route}, Sync: linefile.SyncOS}, func(ctx context.Context, s *server.Server) {
		f := s.Batcher("test")
		add(t, ctx, f, 0, services)
		add(t, ctx, f, services-1, services)
		if n := len(s.Stats().Outputs); n != mostFiles+1 {
			t.Errorf("%d outputs", n)
		}
	})
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != mostFiles+1 {
		t.Errorf("%d files, %v", len(files), err)
	}
	var want []string
	for n := mostFiles; n < services; n++ {
		want = append(want, nthService(n)+"|info|hello")
	}
	equal(t, "others", lines(t, filepath.Join(dir, "others.log")), append(want, want[len(want)-1])...)
}

// A nowhere is a writer that discards what it gets.
type nowhere struct{ _ byte }

func (*nowhere) Write(b []byte) (int, error) { return len(b), nil }

// Services without records for a day are forgotten in favor of others, unless the store has records of them.
func TestSilentServicesMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := []server.Destination{{Writer: &nowhere{}}}
		store := &knowing{}
		serve(t, server.Config{Routes: []server.Route{{To: to}}, Store: store, Interval: time.Hour}, func(ctx context.Context, s *server.Server) {
			f := s.Batcher("test")
			add(t, ctx, f, 0, mostServices)
			_ = meanwhile.Sleep(ctx, 23*time.Hour)
			add(t, ctx, f, 1, mostServices+1)
			if n := s.Stats().Services[server.OtherServices].Records; n != 1 {
				t.Errorf("%d records of others after 23 hours", n)
			}
			store.know(nthService(0))
			_ = meanwhile.Sleep(ctx, 3*time.Hour)
			add(t, ctx, f, mostServices, mostServices+1)
			if n := s.Stats().Services[server.OtherServices].Records; n != 2 {
				t.Errorf("%d records of others, when the store has what was silent", n)
			}
			store.know()
			_ = meanwhile.Sleep(ctx, 2*time.Hour)
			add(t, ctx, f, mostServices, mostServices+1)
			stats := s.Stats().Services
			if len(stats) != mostServices+1 || stats[nthService(mostServices)].Records != 1 || stats[nthService(1)].Records != 2 {
				t.Errorf("%d services, of the last one %+v, of a first one %+v", len(stats), stats[nthService(mostServices)], stats[nthService(1)])
			}
		})
	})
}

// A knowing store returns the services that it was given, and keeps no records.
type knowing struct {
	storage.Store
	mu    sync.Mutex
	known []string
}

func (k *knowing) know(services ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known = services
}

func (k *knowing) Services(context.Context) (all []storage.ServiceStats, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, name := range k.known {
		all = append(all, storage.ServiceStats{Service: name, Records: 1, First: 1, Last: 1})
	}
	return all, nil
}

// A read with records of very many services uses memory by its size, not by the number of services.
func TestRoomForManyServices(t *testing.T) {
	const services = 5000
	route := server.Route{To: []server.Destination{{Store: true}}}
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		store, err := segment.Open(ctx, t.TempDir(), segment.Config{Sync: segment.OS})
		if err != nil {
			return err
		}
		serve(t, server.Config{Routes: []server.Route{route}, Store: store}, func(ctx context.Context, s *server.Server) {
			f := s.Batcher("test")
			for n := range services { // each on its own, so that the next read finds few buffers that were used before
				add(t, ctx, f, n, n+1)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for n := range services {
				f.Add(&logs.View{Service: []byte(nthService(n)), Message: []byte("hello")})
			}
			runtime.ReadMemStats(&after)
			if each := (after.TotalAlloc - before.TotalAlloc) / services; each > 2000 {
				t.Errorf("a service takes %d bytes", each)
			}
			if err := f.Sync(ctx); err != nil {
				t.Error(err)
			}
		})
		return store.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}
