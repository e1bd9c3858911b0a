package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/meanwhile-go/meanwhile/job"
)

// schema is the layout of the keys that this version reads and writes. lua/keys.md describes it.
const schema = 3

// check returns an error if jobs cannot be kept on the server. It creates the store if there is none.
func (s *Store) check(ctx context.Context, c *client) error {
	got, err := s.inspect(ctx, c)
	if err != nil {
		return err
	}
	if text(got[1]) == "none" {
		if err := s.checkEmpty(ctx, c); err != nil {
			return err
		}
		if got, err = s.runOn(ctx, c, checkScript, "1", strconv.Itoa(schema)); err != nil {
			return err
		}
	}
	if text(got[2]) != "meanwhile jobs" {
		return s.foreign(s.prefix + "meta")
	}
	found := text(got[3])
	switch number, err := strconv.Atoi(found); {
	case number == schema:
	case err == nil && number > schema:
		return refuse("%w: its keys are of schema %q, this program reads %d: update the program, or give the store another name with ?name=", job.ErrSchema, found, schema)
	default:
		return refuse("%w: its keys are of schema %q, from before the first release, this program reads %d: give the store another name with ?name=", job.ErrSchema, found, schema)
	}
	return nil
}

// inspect runs the check of the server, and keeps its result for Warning. Prune repeats it: the settings of a server may change while it runs.
func (s *Store) inspect(ctx context.Context, c *client) ([]rueidis.RedisMessage, error) {
	got, err := s.runOn(ctx, c, checkScript, "", "")
	if err != nil {
		return nil, err
	}
	risk := ""
	if err = s.checkServer(info(text(got[0]))); err != nil {
		risk = err.Error()
	}
	s.risk.Store(&risk)
	return got, err
}

// info parses the answer of INFO.
func info(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[key] = value
		}
	}
	return fields
}

// checkServer returns an error if a server is not suitable.
func (s *Store) checkServer(info map[string]string) error {
	version := info["redis_version"]
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, _ := strconv.Atoi(major)
	b, _ := strconv.Atoi(minor)
	switch {
	case a < 6 || a == 6 && b < 2:
		return refuse("the server is Redis %s: update it to 6.2 or newer, or to Valkey", version)
	case info["role"] != "master":
		return refuse("the server is a replica of %s:%s, and what it holds may be behind: give the address of the primary, or use redis+sentinel:", info["master_host"], info["master_port"])
	case info["maxmemory_policy"] != "noeviction":
		return refuse("the server deletes keys when its memory is full, which loses jobs: set maxmemory-policy noeviction, it is %s", info["maxmemory_policy"])
	case s.place.durable && info["aof_enabled"] != "1":
		return refuse("the server keeps no log of writes (AOF), so that a restart loses jobs: set appendonly yes, or give ?durable=no where that may happen")
	}
	return nil
}

// mostScanned bounds how many pages, of a few thousand keys each, a new store scans for keys of other programs that begin with its name.
const mostScanned = 200

// checkEmpty returns an error if there are keys under the name of a store that does not exist, and is not being created by another program.
func (s *Store) checkEmpty(ctx context.Context, c *client) error {
	cursor := "0"
	for range mostScanned {
		got, err := s.runOn(ctx, c, foreignScript, cursor)
		if err != nil {
			return err
		}
		if key := text(got[1]); key != "" {
			return s.foreign(key)
		}
		if cursor = text(got[0]); cursor == "0" {
			break
		}
	}
	return nil
}

func (s *Store) foreign(key string) error {
	return refuse("there is a key %q that is not of this store: give the store another name with ?name=", key)
}

// A refusal is an error that a retry does not fix.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func refuse(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

// isRisk reports whether an error is that of a check.
func isRisk(err error) bool {
	_, ok := errors.AsType[refusal](err)
	return ok
}

// isRefusal reports whether opening would fail again: the check refuses the server, or the server refuses the client and is not just starting.
func isRefusal(err error) bool {
	if isRisk(err) {
		return true
	}
	r, ok := errors.AsType[*rueidis.RedisError](err)
	return ok && !slices.ContainsFunc([]string{"LOADING", "MASTERDOWN", "CLUSTERDOWN", "BUSY", "TRYAGAIN"}, func(code string) bool { return strings.HasPrefix(r.Error(), code) })
}
