//go:build unix

// Faults proves that jobs are not lost. It has several processes enqueue jobs and run them on one store, and meanwhile
// breaks what can break: it kills processes with -9 and stops them for longer than their leases; it cuts and holds up
// connections to a PostgreSQL or a Redis server of its own, and restarts that; it fills the disk under a SQLite file; it has the clocks of
// processes jump, where they are not that of the store: not on SQLite. Part of the jobs are in queues with limits, and an operator retries and
// deletes those that were discarded and hold their limit keys. Each process
// writes down what it does in a ledger, and at the end, when all jobs have run, the ledgers are compared with the store.
//
//	go run ./internal/faults -store sqlite -for 1m
//	go run ./internal/faults -store postgres -for 10m -seed 42
//	go run ./internal/faults -store redis
//	go run ./internal/faults -store redis -losses everysec
//
// It prints how many faults, jobs and double runs there were, and exits with 1 when anything was violated. A run is cut into
// rounds of a minute, each on a new database, so that memory stays bounded. The seed decides what is broken and when, as far as
// one program can: not what the processes do in between. With -losses, a Redis server is killed again and again while jobs are enqueued, and those
// that it had acknowledged and lost are counted, which is a violation where it syncs each write only.
//
// All servers, mounts, folders and processes are its own, on loopback, and gone when it ends, however it ends. The PostgreSQL
// programs are looked for in PATH and where Debian has them, redis-server in PATH. The full disk needs the right to mount, the clocks the go command.
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

// A config is what the program was asked for.
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
	losses    string // of what the acknowledged jobs that are lost are counted, instead of all else
	dir       string // for the folder
	keep      bool
	self      string // the program of the processes, built already, in tests

	// What tests change.
	prepare func(ctx context.Context, store job.Store) error                                               // the store, before there are processes
	program func(process, start string) string                                                             // of a start of a process; nil is self
	drive   func(ctx context.Context, o *round, store job.Store, workers, enqueuers []*harm.Process) error // breaks things in its own time

	// Of a process that the program starts.
	url, ledger, name string
	env               []string // what it has in its environment besides that of the program
}

func main() {
	c, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		os.Exit(2) // parse has said why
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

// run does what the role of the process is.
func (c config) run(ctx context.Context, out io.Writer) error {
	switch c.role {
	case "":
		return c.prove(ctx, out)
	case "worker":
		return c.work(ctx)
	case "enqueuer":
		return c.enqueue(ctx)
	case "guard":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // they are for the program, whose end it waits for
		return harm.GuardUntil(os.Stdin)
	}
	return fmt.Errorf("-role %s: there is no such role", c.role)
}
