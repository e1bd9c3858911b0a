package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/meanwhile-go/meanwhile/job"
)

// call runs the body of a method. It sets a deadline, and adds the name of the call to errors.
func (s *Store) call(ctx context.Context, what string, fn func(ctx context.Context) error) error {
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	inner, cancel := bounded(ctx)
	defer cancel()
	if err := fn(inner); err != nil {
		return fmt.Errorf("%s: %w", what, s.explain(ctx, err))
	}
	return nil
}

// enter returns an error if the store is closed or ctx has ended.
func (s *Store) enter(ctx context.Context) error {
	if s.closing.Load() {
		return job.ErrClosed
	}
	return ctx.Err()
}

// bounded gives ctx a deadline if it has none.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, callTimeout)
}

// explain returns an error with advice for the user of the store.
func (s *Store) explain(ctx context.Context, err error) error {
	switch {
	case s.closing.Load():
		return job.ErrClosed
	case ctx.Err() != nil:
		return ctx.Err()
	}
	r, ok := errors.AsType[*rueidis.RedisError](err)
	if !ok {
		return err
	}
	code, _, _ := strings.Cut(r.Error(), " ")
	switch {
	case code == "OOM" || strings.Contains(r.Error(), "OOM command not allowed"):
		return fmt.Errorf("the server at %s is out of memory, so that no job can be inserted until some are pruned: raise its maxmemory: %w", s.place.shown, err)
	case code == "READONLY":
		return fmt.Errorf("the server at %s takes no writes, as a replica does; the next call connects anew: give the address of the primary: %w", s.place.shown, err)
	case s.place.scheme == "redis+sentinel" && (code == "NOAUTH" || code == "WRONGPASS"):
		return fmt.Errorf("a Sentinel, or the primary, does not accept the user and password: sentinel_username= and sentinel_password= are for Sentinels, what stands before the hosts is for the primary: %w", err)
	case code == "NOPERM" || strings.Contains(r.Error(), "user executing the script") || strings.Contains(r.Error(), "ACL failure in script"):
		return fmt.Errorf("the user at %s lacks a permission, and needs %s: %w", s.place.shown, s.place.permissions(), err)
	case code == "MISCONF":
		return fmt.Errorf("the server at %s cannot write to its disk: %w", s.place.shown, err)
	}
	return err
}
