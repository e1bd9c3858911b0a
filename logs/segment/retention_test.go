package segment

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

func TestRetention(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cfg      Config
		after    time.Duration
		wrong    bool // whether the clock is wrong
		api, web int  // segments of 5 that are left
	}{
		"nothing to do":     {cfg: Config{}, after: time.Hour, api: 5, web: 5},
		"by age":            {cfg: Config{Retention: Retention{Age: time.Hour}}, after: 2 * time.Hour, api: 0, web: 0},
		"by a wrong clock":  {cfg: Config{Retention: Retention{Age: time.Hour}}, after: 2 * time.Hour, wrong: true, api: 5, web: 5},
		"age of one":        {cfg: Config{Services: map[string]Retention{"api": {Age: time.Hour}}}, after: 2 * time.Hour, api: 0, web: 5},
		"age of some":       {cfg: Config{Services: map[string]Retention{"a*": {Age: 3 * time.Hour}, "ap*": {Age: time.Hour}, "apis": {Age: 3 * time.Hour}}}, after: 2 * time.Hour, api: 0, web: 5},
		"default age":       {cfg: Config{}, after: 31 * 24 * time.Hour, api: 0, web: 0},
		"without a limit":   {cfg: Config{Retention: Retention{Age: -1}}, after: 10_000 * time.Hour, api: 5, web: 5},
		"by size":           {cfg: Config{Retention: Retention{Bytes: 1}, Services: map[string]Retention{"web": {Bytes: 1 << 30}}}, api: 0, web: 5},
		"by size of all":    {cfg: Config{Bytes: 1}, api: 0, web: 0},
		"by half the size":  {cfg: Config{Bytes: 10_000}, api: 2, web: 2},
		"no limit of bytes": {cfg: Config{Bytes: -1}, api: 5, web: 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
				s, _ := sabotaged(t, dir)
				s.clockTrusted = func() bool { return true }
				test.cfg.Logger = quietly
				s.cfg = test.cfg.withDefaults()
				for n := range uint64(5) {
					if err := s.Append(ctx, logtest.Batch("api", logs.Client{}, 10*n+1, 10), logtest.Batch("web", logs.Client{}, 10*n+1, 10)); err != nil {
						return err
					}
					s.rotateNow(t)
				}
				if err := s.convertAll(ctx); err != nil {
					return err
				}
				if name == "by half the size" {
					s.cfg.Bytes = s.journals[0].kept
					for _, svc := range s.services {
						s.cfg.Bytes += svc.segments[3].onDisk() + svc.segments[4].onDisk()
					}
				}
				s.prune(time.Now().Add(test.after), !test.wrong)
				if dirs, err := os.ReadDir(filepath.Join(dir, "services")); err != nil || len(dirs) != min(test.api, 1)+min(test.web, 1) {
					t.Errorf("folders %v, %v", dirs, err)
				}
				return s.Close()
			})
			if err != nil {
				t.Fatal(err)
			}
			s, _ := sabotaged(t, dir)
			stats, err := s.Services(t.Context())
			if err != nil || len(stats) != 2 {
				t.Fatal(stats, err)
			}
			for i, want := range []int{test.api, test.web} {
				files, err := filepath.Glob(filepath.Join(dir, "services", stats[i].Service, "*"))
				if err != nil || len(files) != want {
					t.Errorf("%s: files %v, %v, want %d", stats[i].Service, files, err, want)
				}
				if got := stats[i]; got.Segments != want || got.Records != int64(10*want) || got.Last != 50 || got.First != uint64(51-10*want) || got.Pruned != int64(50-10*want) {
					t.Errorf("got %+v, want %d segments", got, want)
				}
			}
			if err := s.Append(t.Context(), logtest.Batch("api", logs.Client{}, 51, 1)); err != nil {
				t.Fatal(err)
			}
			for r, err := range s.Read(t.Context(), "api", 51) {
				if err != nil || r.Number != 51 {
					t.Errorf("the next record is %d, %v", r.Number, err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A journal that could not be deleted is found again when all its segments, and later ones, are deleted. No number is assigned twice.
func TestRetentionAndAJournalThatStays(t *testing.T) {
	dir := t.TempDir()
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		s, bad := sabotagedWith(t, dir, Config{Bytes: 1, Logger: quietly})
		for n := range uint64(2) {
			if err := s.Append(ctx, logtest.Batch("api", logs.Client{}, 10*n+1, 10)); err != nil {
				return err
			}
			s.rotateNow(t)
		}
		stays := s.journals[0].Path()
		bad.set(func(_ int, op, path string) error {
			if op == "remove" && path == stays {
				return os.ErrPermission
			}
			return nil
		})
		if err := s.convertAll(ctx); err != nil {
			return err
		}
		s.prune(time.Now(), true)
		if err := s.Close(); err != nil {
			return err
		}
		s, _ = sabotaged(t, dir)
		if err := s.Append(ctx, logtest.Batch("api", logs.Client{}, 21, 1)); err != nil {
			return err
		}
		for r, err := range s.Read(ctx, "api", 11) {
			if err != nil || r.Number != 21 {
				t.Errorf("the record has number %d, %v, want 21", r.Number, err)
			}
		}
		return s.Close()
	})
	if err != nil {
		t.Error(err)
	}
}

// The age of segments that were made by a clock that was not trusted counts from when it is, whatever the clock said, and also if the
// process restarts in between.
func TestRetentionOfWhatAWrongClockHasMade(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{Logger: quietly, Retention: Retention{Age: time.Hour}}
	begin := func(wrong, right time.Duration) *Store {
		s, _ := sabotagedWith(t, dir, cfg)
		s.prune(time.Now().Add(wrong), false)
		if right > 0 {
			s.prune(time.Now().Add(right), true)
		}
		return s
	}
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		s := begin(0, 0)
		for n := range uint64(3) {
			if err := s.Append(ctx, logtest.Batch("api", logs.Client{}, 10*n+1, 10)); err != nil {
				return err
			}
			s.rotateNow(t)
		}
		if err := s.convertAll(ctx); err != nil {
			return err
		}
		for condensed := range 2 {
			if condensed > 0 {
				if err := s.condense(ctx, s.services["api"], s.services["api"].segments); err != nil {
					return err
				}
			}
			if err := s.Close(); err != nil {
				return err
			}
			s = begin(1000*time.Hour, 0)
		}
		return s.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	kept := func(s *Store, want int) {
		t.Helper()
		if got := len(s.services["api"].segments); got != want {
			t.Errorf("%d segments are kept, want %d", got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	kept(begin(-1000*time.Hour, 2*time.Hour), 1) // so that its age counts from then on
	kept(begin(0, 2*time.Hour+30*time.Minute), 1)
	kept(begin(0, 3*time.Hour+time.Minute), 0)
}

// A clock that was ahead was trusted, because it ran evenly. Segments that were made by it are not kept until that time, nor are later
// ones.
func TestRetentionOfWhatIsMadeLater(t *testing.T) {
	dir, path := filled(t)
	later := time.Now().AddDate(1, 0, 0)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	s, _ := sabotagedWith(t, dir, Config{Logger: quietly, Retention: Retention{Age: time.Hour}})
	for _, after := range []time.Duration{0, 59 * time.Minute, 61 * time.Minute} {
		s.prune(time.Now().Add(after), true)
		if got := len(s.services["api"].segments) > 0; got != (after < time.Hour) {
			t.Errorf("after %v it is there: %t", after, got)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Clients are not forgotten because of the times of a wrong clock.
func TestForgetClientsHeardOfByAWrongClock(t *testing.T) {
	dir := t.TempDir()
	s, _ := sabotaged(t, dir)
	right := false
	s.clockTrusted = func() bool { return right }
	if err := s.Append(t.Context(), logtest.Batch("api", logs.Client{1}, 1, 3)); err != nil {
		t.Fatal(err)
	}
	for _, right = range []bool{false, true, true} {
		s.writing.Lock()
		err := s.writeCheckpoint()
		s.writing.Unlock()
		c := s.clients[logs.Client{1}]
		if err != nil || c == nil || (c.lastSeen == 0) == right {
			t.Fatalf("by a clock that is right %t: %+v, %v", right, c, err)
		}
	}
	s.clients[logs.Client{1}].lastSeen -= int64(forget/time.Second) + 1
	right = false
	if last, err := s.Last(t.Context(), logs.Client{1}); err != nil || last != 3 {
		t.Errorf("last is %d, %v", last, err)
	}
	right = true
	s.writing.Lock()
	err := s.writeCheckpoint()
	s.writing.Unlock()
	if c := s.clients[logs.Client{1}]; err != nil || c == nil {
		t.Errorf("a client that was just heard of is not known: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A running search keeps the files that it reads until it ends.
func TestRetentionWaitsForSearches(t *testing.T) {
	dir, path := filled(t)
	s, _ := sabotaged(t, dir)
	s.prune(time.Now(), true) // it was made by a clock that was not trusted yet
	n := 0
	for _, err := range s.Find(t.Context(), storage.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			s.prune(time.Now().Add(10_000*time.Hour), true)
		}
	}
	if n != 10_000 {
		t.Errorf("%d records", n)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the segment is still there: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Clients that were not seen for long are forgotten, others are not.
func TestForgetClients(t *testing.T) {
	dir := t.TempDir()
	s, _ := sabotaged(t, dir)
	for i := range byte(2) {
		if err := s.Append(t.Context(), logtest.Batch("api", logs.Client{i + 1}, 1, 3)); err != nil {
			t.Fatal(err)
		}
	}
	s.clients[logs.Client{1}].lastSeen = time.Now().Unix() - int64(forget/time.Second) - 1
	for _, right := range []bool{false, true} {
		s.clockTrusted = func() bool { return right }
		s.writing.Lock()
		err := s.writeCheckpoint()
		s.writing.Unlock()
		if _, known := s.clients[logs.Client{1}]; known == right && err == nil {
			t.Errorf("by a clock that is right %t, the client is known: %t", right, known)
		}
	}
	s.rotateNow(t)
	err := meanwhile.Run(t.Context(), s.convertAll)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, _ = sabotaged(t, dir)
	for i, want := range []uint64{0, 3} {
		if got, err := s.Last(t.Context(), logs.Client{byte(i + 1)}); err != nil || got != want {
			t.Errorf("client %d: last is %d, %v, want %d", i+1, got, err, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
