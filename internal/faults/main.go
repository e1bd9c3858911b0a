//go:build unix

// Faults proves that jobs are not lost. It starts processes that enqueue and run jobs on one store, and injects faults at the same time: it kills
// processes with -9 and stops them for longer than their leases; it cuts and holds up connections to a PostgreSQL or Redis server of its own, and
// restarts that server; it fills the disk under a SQLite file; it makes the clocks of processes jump, except on SQLite, where they are the clock of
// the store. Part of the jobs are in queues with limits, and an operator retries and deletes discarded jobs that hold their limit keys. Each process
// writes what it does to a ledger. At the end, when all jobs have run, the ledgers are compared with the store.
//
//	go run ./internal/faults -store sqlite -for 1m
//	go run ./internal/faults -store postgres -for 10m -seed 42
//	go run ./internal/faults -store redis
//	go run ./internal/faults -store redis -losses everysec
//
// It prints how many faults, jobs and double runs there were, and exits with 1 if there was any violation. A run is divided into rounds of a minute,
// each on a new database, so that memory stays bounded. The seed determines what is broken and when, as far as one program can, but not what the
// processes do in between. With -losses, a Redis server is killed again and again while jobs are enqueued, and the acknowledged jobs that it lost are
// counted. They are a violation only with -losses always.
//
// All servers, mounts, folders and processes are its own, on loopback, and gone when it ends, however it ends. It looks for the PostgreSQL programs
// in PATH and where Debian has them, and for redis-server in PATH. Filling the disk needs the right to mount, and clocks that jump need the go
// command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/process"
)

// A config has the flags of the program.
type config struct {
	role      string
	store     string
	length    time.Duration
	round     time.Duration
	seed      uint64
	workers   int
	enqueuers int
	rate      int // jobs each second
	lease     time.Duration
	only      string // part of the names of the faults
	losses    string // only count lost jobs, in this way: a key of lossKinds
	dir       string // in which the folder of the run is created
	keep      bool
	self      string // the program of the processes; tests set it to one that is already built

	// What tests change.
	prepare func(ctx context.Context, store job.Store) error                                               // prepares the store before processes start
	program func(process, start string) string                                                             // returns the program for a start of a process; nil for self
	drive   func(ctx context.Context, o *round, store job.Store, workers, enqueuers []*harm.Process) error // injects the faults instead of inject

	// Of a process that the program starts.
	url, ledger, name string
	env               []string // added to the environment of this program
}

func main() {
	c, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		os.Exit(2) // parse has printed why
	}
	process.Config{Grace: time.Minute}.Main(func(ctx context.Context) error { return c.run(ctx, os.Stdout) }, meanwhile.Name("faults"))
}

func parse(args []string, usage io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&c.role, "role", "", "what a process is for, when the program starts itself")
	flags.StringVar(&c.store, "store", "sqlite", "`sqlite`, postgres or redis")
	flags.DurationVar(&c.length, "for", time.Minute, "break things for so long")
	flags.DurationVar(&c.round, "round", time.Minute, "begin with a new database after so long")
	flags.Uint64Var(&c.seed, "seed", rand.Uint64()>>32, "of what is drawn")
	flags.IntVar(&c.workers, "workers", 3, "worker processes")
	flags.IntVar(&c.enqueuers, "enqueuers", 2, "enqueuing processes")
	flags.IntVar(&c.rate, "rate", 200, "jobs enqueued each second")
	flags.DurationVar(&c.lease, "lease", 2*time.Second, "of the jobs")
	flags.StringVar(&c.only, "only", "", "break only what has this `word` in its name in the table")
	flags.StringVar(&c.losses, "losses", "", "only count the acknowledged jobs that Redis loses when it is killed, with appendfsync `always` or everysec, or by a failover")
	flags.StringVar(&c.dir, "dir", "", "work in a new folder in this one; default that for temporary files")
	flags.BoolVar(&c.keep, "keep", false, "keep the ledgers")
	flags.StringVar(&c.url, "url", "", "of the store, for a process")
	flags.StringVar(&c.ledger, "ledger", "", "file of a process")
	flags.StringVar(&c.name, "name", "", "of a process")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if err := c.check(flags.Args()); err != nil {
		fmt.Fprintln(usage, "faults:", err)
		return c, err
	}
	return c, nil
}

func (c *config) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q is not understood: only flags are", rest)
	case c.store != "sqlite" && c.store != "postgres" && c.store != "redis":
		return fmt.Errorf("-store %s: give sqlite, postgres or redis; a store in memory cannot be shared by processes", c.store)
	case c.losses != "" && (c.store != "redis" || lossKinds[c.losses] == ""):
		return fmt.Errorf("-losses %s: give always, everysec or failover, with -store redis", c.losses)
	case c.length <= 0 || c.round <= 0 || c.lease < 100*time.Millisecond:
		return errors.New("-for and -round are positive, and -lease is at least 100ms")
	case c.workers < 1 || c.enqueuers < 1 || c.rate < 1:
		return errors.New("-workers, -enqueuers and -rate are at least 1")
	}
	return nil
}

// run runs the role of the process.
func (c config) run(ctx context.Context, out io.Writer) error {
	switch c.role {
	case "":
		return c.prove(ctx, out)
	case "worker":
		return c.work(ctx)
	case "enqueuer":
		return c.enqueue(ctx)
	case "guard":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // they are meant for the program, for whose end the guard waits
		return harm.GuardUntil(os.Stdin)
	}
	return fmt.Errorf("-role %s: there is no such role", c.role)
}
