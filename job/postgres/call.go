package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/meanwhile-go/meanwhile/job"
)

// Error codes of PostgreSQL that a store handles.
const (
	codeSerialization  = "40001"
	codeDeadlock       = "40P01"
	codeReadOnly       = "25006"
	codeNoTable        = "42P01"
	codeNoColumn       = "42703"
	codeNoFunction     = "42883"
	codeNoSchema       = "3F000"
	codeUnique         = "23505"
	codeCanceled       = "57014"
	codeLocked         = "55P03"
	codeTooManyClients = "53300"
)

// tries is how often a call is tried if it certainly did nothing.
const tries = 5

// call runs the body of a method. It sets a deadline, checks the schema, runs the body again if it certainly did nothing, and adds the name of the
// call to errors.
func (s *Store) call(ctx context.Context, what string, fn func(ctx context.Context) error) error {
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	ctx, cancel := bounded(ctx, callTimeout)
	defer cancel()
	err := s.check(ctx)
	for try := 1; err == nil; try++ {
		if err = fn(ctx); err == nil {
			return nil
		}
		if try == tries || !undone(err) || !pause(ctx, time.Duration(try)*5*time.Millisecond) {
			break
		}
		err = nil
	}
	return fmt.Errorf("%s: %w", what, s.explain(ctx, err))
}

// enter returns an error if the store is closed or ctx has ended.
func (s *Store) enter(ctx context.Context) error {
	if s.closing.Load() {
		return job.ErrClosed
	}
	return ctx.Err()
}

// bounded gives ctx a deadline if it has none.
func bounded(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

// pause waits for d. It returns false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// undone reports whether an error means that nothing was done and another try may succeed: the transaction conflicted with another one, or the
// connection turned out to be dead before it was used.
func undone(err error) bool {
	if open := new(openError); errors.As(err, &open) {
		return false
	}
	switch codeOf(err) {
	case codeSerialization, codeDeadlock:
		return true
	}
	return pgconn.SafeToRetry(err)
}

// uncertain reports whether an error leaves open if the call took effect: the server got the request, and has not answered.
func uncertain(err error) bool {
	if open := new(openError); errors.As(err, &open) {
		return true
	}
	return err != nil && codeOf(err) == "" && !pgconn.SafeToRetry(err)
}

// An openError is the error of a commit that the server has not answered: the transaction may be committed. The error of pgx cannot be trusted
// here: if the connection is cut right after the commit was sent, it is "conn closed", as if nothing had been sent.
type openError struct{ err error }

func (e *openError) Error() string {
	return "it is open whether the transaction was committed: " + e.err.Error()
}

func (e *openError) Unwrap() error { return e.err }

func codeOf(err error) string {
	if e := new(pgconn.PgError); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// explain returns an error with advice for the user of the store, and reacts to it.
func (s *Store) explain(ctx context.Context, err error) error {
	switch codeOf(err) {
	case codeReadOnly:
		const bySetting = "select not pg_is_in_recovery() and current_setting('default_transaction_read_only')::boolean"
		var set bool
		_ = s.pool.QueryRow(ctx, bySetting, s.mode).Scan(&set) // without an answer, the more frequent reason is given
		// After a failover the pooled connections may lead to a server that is now a standby. A setting of the role is that of new connections.
		s.pool.Reset()
		s.waits.reconnect()
		if set {
			return fmt.Errorf("the server takes no writes: default_transaction_read_only is on, for the server, the database or the role, as some providers set it when a disk is full: %w", err)
		}
		return fmt.Errorf("the server takes no writes, as a standby does; the next call connects anew: %w", err)
	case codeNoTable, codeNoColumn, codeNoFunction, codeNoSchema:
		s.checked.Store(false)
		if schemaErr := s.check(ctx); errors.Is(schemaErr, job.ErrNoSchema) || errors.Is(schemaErr, job.ErrSchema) {
			return schemaErr
		}
	case codeTooManyClients:
		return fmt.Errorf("PostgreSQL at %s has no connection left (max_connections): %w", s.address(), err)
	}
	if connect := new(pgconn.ConnectError); errors.As(err, &connect) {
		return fmt.Errorf("connect to PostgreSQL at %s: %w", s.address(), oneLine{connect.Unwrap()})
	}
	return err
}

// oneLine is an error with its text on one line: pgx has a line for each address, and each way to connect to it.
type oneLine struct{ error }

func (e oneLine) Error() string {
	lines := strings.Split(e.error.Error(), "\n")
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "; ")
}

func (e oneLine) Unwrap() error { return e.error }

func (s *Store) address() string { return address(s.pool.Config().ConnConfig) }
