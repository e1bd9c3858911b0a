//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
)

const diskSize = 128 << 20 // bytes; the jobs of a minute use a quarter of it

// A site is what all rounds share: the folder, the server or the disk, and the table.
type site struct {
	folder string
	guard  *harm.Guard
	disk   *harm.Disk // of SQLite
	server *server    // of PostgreSQL
	redis  *redisServer
	proxy  *harm.Proxy

	counts  map[string]int
	drained time.Duration // the longest time that the jobs took to end after the last fault
	rounds  int
}

var errViolated = errors.New("what was promised was violated")

// prove runs round after round and prints the table.
func (c config) prove(ctx context.Context, out io.Writer) (err error) {
	s := &site{counts: map[string]int{}}
	if s.guard, err = harm.StartGuard(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.guard.End()) }()
	if s.folder, err = os.MkdirTemp(c.dir, "faults-*"); err != nil {
		return err
	}
	if c.keep {
		fmt.Fprintln(out, "kept in", s.folder)
	} else if err := s.guard.Report(harm.HasFolder, s.folder); err != nil {
		return err
	}
	if err := os.Chmod(s.folder, 0o755); err != nil { // for the user of the server
		return err
	}
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		if c.losses != "" {
			return s.countLosses(ctx, c, out)
		}
		if err := s.open(ctx, c.store); err != nil {
			return err
		}
		if err := s.findProgram(ctx, &c); err != nil {
			return err
		}
		fmt.Fprintf(out, "store %s, seed %d, %v\n", s.what(), c.seed, c.length)
		return s.goThrough(ctx, c, out)
	}, meanwhile.Name("prove"))
}

// open starts the server and the proxy, or creates the disk.
func (s *site) open(ctx context.Context, store string) (err error) {
	port := 0
	switch store {
	case "sqlite":
		s.disk, err = harm.NewDisk(filepath.Join(s.folder, "disk"), diskSize, s.guard)
		return err
	case "redis":
		if s.redis, err = startRedis(ctx, filepath.Join(s.folder, "redis"), "always", s.guard); err == nil {
			port = s.redis.port
		}
	default:
		if s.server, err = startServer(ctx, s.folder, s.guard); err == nil {
			port = s.server.port
		}
	}
	if err != nil {
		return err
	}
	if s.proxy, err = harm.NewProxy("127.0.0.1:" + strconv.Itoa(port)); err != nil {
		return err
	}
	meanwhile.Go(ctx, s.proxy.Serve, meanwhile.Name("proxy"), meanwhile.InBackground())
	return nil
}

// findProgram sets the program of the processes: this one or, for a store that has its own clock, one that it builds, whose clock can jump.
func (s *site) findProgram(ctx context.Context, c *config) (err error) {
	switch {
	case c.self != "":
	case s.server != nil || s.redis != nil:
		c.self = filepath.Join(s.folder, "faults")
		err = harm.Go(ctx, s.folder, nil, []string{"build", "-o", c.self}, "github.com/meanwhile-go/meanwhile/internal/faults")
	default:
		c.self, err = os.Executable()
	}
	return err
}

func (s *site) what() string {
	switch {
	case s.server != nil:
		return "postgres, a server of its own behind a proxy"
	case s.redis != nil:
		return "redis, a server of its own behind a proxy, which syncs each write"
	case s.disk.CanFill:
		return fmt.Sprintf("sqlite, on a disk of %d MiB in memory", diskSize>>20)
	}
	return "sqlite, on a disk that is never full: mounting one is not allowed here"
}

// goThrough runs the rounds one after the other.
func (s *site) goThrough(ctx context.Context, c config, out io.Writer) error {
	violated := 0
	for left := c.length; left > 0; left -= c.round {
		s.rounds++
		o, err := s.newRound(ctx, c, s.rounds)
		if err != nil {
			return err
		}
		err = o.run(ctx, min(left, c.round))
		if reportErr := o.report(out); err == nil {
			err = reportErr
		}
		violated += len(o.violations) + o.hidden
		if err := errors.Join(err, o.over()); err != nil {
			return err
		}
	}
	s.print(out, violated)
	if violated > 0 {
		return fmt.Errorf("%w %d times", errViolated, violated)
	}
	return nil
}
