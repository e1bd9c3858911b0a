package serve

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// A starting store answers after a while, and has tables after a migration, which takes time.
type starting struct {
	*memory.Store
	from     time.Time
	migrated bool
	takes    time.Duration
}

func (s *starting) Ping(context.Context) error {
	switch {
	case time.Now().Before(s.from):
		return errors.New("connection refused")
	case !s.migrated:
		return job.ErrNoSchema
	}
	return nil
}

func (s *starting) Migrate(ctx context.Context) error {
	if time.Now().Before(s.from) {
		return errors.New("connection refused")
	}
	err := meanwhile.Sleep(ctx, s.takes)
	s.migrated = err == nil
	return err
}

func TestAwait(t *testing.T) {
	for _, test := range []struct {
		name     string
		after    time.Duration
		migrate  bool
		migrated bool
		takes    time.Duration // duration of the migration
		took     time.Duration
		want     string // part of the error, "" for none
	}{
		{"it is there", 0, false, true, 0, 0, ""},
		{"it starts, too", 20 * time.Second, false, true, 0, 20 * time.Second, ""},
		{"it has no tables", 0, false, false, 0, 0, "or serve with --migrate"},
		{"it gets tables", 20 * time.Second, true, false, 0, 20 * time.Second, ""},
		{"it gets large indexes", 20 * time.Second, true, false, 10 * time.Minute, 10*time.Minute + 20*time.Second, ""},
		{"it never starts", time.Hour, true, false, 0, time.Minute, "no response for 1m0s: connection refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &plan{Command: &Command{Migrate: test.migrate}, logger: slog.New(slog.DiscardHandler)}
				begun := time.Now()
				err := p.await(t.Context(), &starting{Store: memory.New(), from: begun.Add(test.after), migrated: test.migrated, takes: test.takes})
				if got := time.Since(begun); got.Round(2*time.Second) != test.took {
					t.Errorf("it took %v, want %v", got, test.took)
				}
				if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %q", err, test.want)
				}
			})
		})
	}
}
