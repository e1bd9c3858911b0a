//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// lossKinds are the values of the flag -losses, with the text that is printed for each.
var lossKinds = map[string]string{
	"always":   "killed with -9, appendfsync always",
	"everysec": "killed with -9, appendfsync everysec",
	"failover": "killed with -9, appendfsync always, and its replica promoted",
}

// losses are the results of all kills together.
type losses struct {
	kills, losing      int // how many kills, and how many of them lost a job
	acknowledged, lost int
	most               int           // lost by one kill
	oldest             time.Duration // longest time before the kill at which a lost job had been acknowledged
}

// countLosses kills a server again and again while jobs are enqueued, and prints how many acknowledged jobs were lost.
func (s *site) countLosses(ctx context.Context, c config, out io.Writer) error {
	fmt.Fprintf(out, "store redis, %s, seed %d, %v\n", lossKinds[c.losses], c.seed, c.length)
	r := rand.New(rand.NewPCG(c.seed, 2))
	var all losses
	for begun := time.Now(); all.kills == 0 || time.Since(begun) < c.length; {
		if err := s.killOnce(ctx, c, filepath.Join(s.folder, "losses-"+strconv.Itoa(all.kills)), r, &all); err != nil {
			return err
		}
	}
	row := func(n int, what string) { fmt.Fprintf(out, "%9d  %s\n", n, what) }
	row(all.kills, "kills")
	row(all.acknowledged, countAcknowledged)
	row(all.lost, "of these lost")
	row(all.losing, "kills that lost any")
	row(all.most, "lost by one kill at most")
	row(int(all.oldest.Milliseconds()), "ms before the kill the first of them was acknowledged, at most")
	if all.lost > 0 && c.losses == "always" {
		return fmt.Errorf("%w: %d acknowledged jobs are lost", errViolated, all.lost)
	}
	return nil
}

// An ack is a job that was acknowledged, and when.
type ack struct {
	id job.ID
	at time.Time
}

// killOnce starts a server, kills it while jobs are enqueued, and counts the jobs that are there after a restart, or on the promoted replica.
func (s *site) killOnce(ctx context.Context, c config, folder string, r *rand.Rand, all *losses) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	appendfsync := c.losses
	if c.losses == "failover" {
		appendfsync = "always"
	}
	server, err := startRedis(ctx, filepath.Join(folder, "server"), appendfsync, s.guard)
	if err != nil {
		return err
	}
	after := server
	if c.losses == "failover" {
		if after, err = startRedis(ctx, filepath.Join(folder, "replica"), appendfsync, s.guard, "--replicaof", "127.0.0.1 "+strconv.Itoa(server.port)); err != nil {
			return err
		}
		if err := after.until(ctx, "ROLE", "connected"); err != nil {
			return err
		}
	}
	killAfter := 300*time.Millisecond + time.Duration(r.IntN(1500))*time.Millisecond
	acks, killed, err := c.enqueueUntilKilled(ctx, server, killAfter)
	if err != nil {
		return err
	}
	if after == server {
		err = server.start(ctx)
	} else {
		err = after.until(ctx, "REPLICAOF NO ONE", "+OK")
	}
	if err != nil {
		return err
	}
	if err := all.count(ctx, after, acks, killed); err != nil {
		return err
	}
	return errors.Join(after.stop(syscall.SIGKILL), os.RemoveAll(folder))
}

// until repeats a command until the answer contains word.
func (s *redisServer) until(ctx context.Context, command, word string) error {
	for begun := time.Now(); ; {
		answer, err := s.ask(command)
		if err == nil && strings.Contains(answer, word) {
			return nil
		}
		if time.Since(begun) > redisLimit {
			return fmt.Errorf("redis-server answers %s with %q: %w", command, answer, err)
		}
		if err := meanwhile.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// enqueueUntilKilled enqueues jobs from several callers, one job at a time each, until it kills the server. It returns the acknowledged jobs.
func (c config) enqueueUntilKilled(ctx context.Context, server *redisServer, after time.Duration) (acks []ack, killed time.Time, err error) {
	opened, err := job.Open(ctx, redisURL(server.port, "losses"))
	if err != nil {
		return nil, killed, err
	}
	defer opened.Close()
	store := wrapStore(opened)
	callers := make([][]ack, c.enqueuers*enqueueAtOnce)
	err = meanwhile.Run(ctx, func(ctx context.Context) error {
		inserting, stop := context.WithCancel(ctx)
		defer stop()
		for i := range callers {
			meanwhile.Go(ctx, func(context.Context) error {
				for inserting.Err() == nil {
					j, err := job.New("work", []byte("{}"))
					if err != nil {
						return err
					}
					if _, err := store.Insert(inserting, j); err != nil {
						return nil // not acknowledged: the server is gone
					}
					callers[i] = append(callers[i], ack{j.ID, time.Now()})
				}
				return nil
			}, meanwhile.Name("caller "+strconv.Itoa(i)))
		}
		if err := meanwhile.Sleep(ctx, after); err != nil {
			return err
		}
		killed = time.Now()
		return server.stop(syscall.SIGKILL)
	}, meanwhile.Name("enqueue until killed"))
	return slices.Concat(callers...), killed, err
}

// count checks which of the acknowledged jobs are there.
func (l *losses) count(ctx context.Context, server *redisServer, acks []ack, killed time.Time) error {
	store, err := job.Open(ctx, redisURL(server.port, "losses"))
	if err != nil {
		return err
	}
	defer store.Close()
	lost := 0
	for part := range slices.Chunk(acks, pageSize) {
		ids, there := make([]job.ID, len(part)), map[job.ID]bool{}
		for i := range part {
			ids[i] = part[i].id
		}
		err := patiently(ctx, func(ctx context.Context) error {
			jobs, err := store.List(ctx, job.Filter{IDs: ids, Limit: len(ids)})
			for _, j := range jobs {
				there[j.ID] = true
			}
			return err
		})
		if err != nil {
			return err
		}
		for i := range part {
			if !there[part[i].id] {
				lost++
				l.oldest = max(l.oldest, killed.Sub(part[i].at))
			}
		}
	}
	l.kills++
	l.acknowledged += len(acks)
	l.lost += lost
	l.most = max(l.most, lost)
	if lost > 0 {
		l.losing++
	}
	return nil
}
