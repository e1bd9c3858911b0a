package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/interrupt"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/internal/storeurl"
	"github.com/meanwhile-go/meanwhile/job"
	_ "github.com/meanwhile-go/meanwhile/job/postgres" // postgres: and postgresql:
	_ "github.com/meanwhile-go/meanwhile/job/redis"    // redis: and similar schemes
	_ "github.com/meanwhile-go/meanwhile/job/sqlite"   // sqlite: and file:
)

// A Target has the flags for the store that a command uses, filled in by kong.
type Target struct {
	Store string `env:"MEANWHILE_STORE" placeholder:"URL" help:"The store of the jobs: sqlite:jobs.db, the path of a SQLite file, postgres://user@host/database, redis://host, or a keyword string such as \"host=db dbname=app\" (default sqlite:meanwhile.db). Other users of the machine may see a password in a flag, but not in the environment."`
}

const (
	defaultStore = "sqlite:meanwhile.db"
	pingTimeout  = 15 * time.Second
)

// AfterApply refuses an empty store, such as an unset variable: another store than the intended one would be used.
func (*Target) AfterApply(ctx *kong.Context) error {
	return refuseEmpty(ctx, func(v *kong.Value) bool { return v.Flag != nil && v.Name == "store" })
}

// refuseEmpty returns an error for an empty flag or argument that which selects.
func refuseEmpty(ctx *kong.Context, which func(*kong.Value) bool) error {
	for _, p := range ctx.Path {
		given := p.Positional
		if p.Flag != nil {
			given = p.Flag.Value
		}
		if given == nil || p.Resolved || !which(given) {
			continue
		}
		switch value := given.Target; value.Kind() {
		case reflect.String, reflect.Slice, reflect.Map:
			if value.Len() == 0 {
				return usage("%s is empty: give a value, or leave it out", given.ShortSummary())
			}
		default:
		}
	}
	return nil
}

// address returns the URL of the store.
func (t *Target) address() string {
	switch {
	case t.Store == "":
		return defaultStore
	case storeurl.Scheme(t.Store) == "":
		return "sqlite:" + t.Store
	}
	return t.Store
}

// String returns the store without its password.
func (t *Target) String() string { return probe.Printable(storeurl.Redacted(t.address())) }

// CheckStore validates the URL of the store. Its errors do not show the URL.
func (t *Target) CheckStore() error {
	if err := t.check(); err != nil {
		return fmt.Errorf("--store: %w", err)
	}
	return nil
}

func (t *Target) check() error {
	if storeurl.Scheme(t.address()) == "memory" {
		return errMemory
	}
	return job.CheckURL(t.address())
}

var errMemory = errors.New("a store in memory would be empty, and would be lost when the command exits: give a file, such as sqlite:jobs.db")

// file returns the path of the store's file, if it is a file.
func (t *Target) file() (path string, ok bool) {
	scheme, rest, _ := strings.Cut(t.address(), ":")
	if scheme != "sqlite" && scheme != "file" {
		return "", false
	}
	path, _, _ = strings.Cut(rest, "?")
	if after, ok := strings.CutPrefix(path, "//"); ok {
		path = strings.TrimPrefix(after, "localhost")
	}
	if unescaped, err := url.PathUnescape(path); err == nil {
		path = unescaped
	}
	return path, true
}

// Open opens the store. A missing file is created only if create is set.
func (t *Target) Open(ctx context.Context, create bool) (job.Store, error) {
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("store %s: %w", t, err)
	}
	if path, ok := t.file(); ok && !create {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("store %s: there is no such file; enqueue a job, or create it with: meanwhile jobs migrate", t)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	s, err := job.Open(ctx, t.address())
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", t, err)
	}
	return s, nil
}

// use calls fn with the store when it answers. A signal cancels ctx, and a second one exits the process.
func (t *Target) use(create bool, fn func(ctx context.Context, s job.Store) error) error {
	return interrupt.Run("jobs", func(ctx context.Context) error { return t.with(ctx, create, fn) })
}

// with calls fn with the store when it answers.
func (t *Target) with(ctx context.Context, create bool, fn func(ctx context.Context, s job.Store) error) error {
	return t.withUnfit(ctx, create, func(ctx context.Context, s job.Store) error {
		if err := Ping(ctx, s, pingTimeout); err != nil {
			return fmt.Errorf("store %s: %w", t, err)
		}
		return fn(ctx, s)
	})
}

// Ping returns nil if the store answers within a time limit, and fits this program.
func Ping(ctx context.Context, s job.Store, limit time.Duration) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := s.Ping(within)
	if errors.Is(err, context.DeadlineExceeded) && within.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("no response for %v (%w)", limit, err)
	}
	return err
}

// withUnfit is with for a store whose tables may be missing or of another version.
func (t *Target) withUnfit(ctx context.Context, create bool, fn func(ctx context.Context, s job.Store) error) error {
	s, err := t.Open(ctx, create)
	if err != nil {
		return err
	}
	err = fn(ctx, s)
	if closeErr := s.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("store %s: %w", t, closeErr)
	}
	return err
}
