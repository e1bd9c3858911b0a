//go:build unix

// Logfaults proves that no acknowledged record is lost. It starts a log server and clients in processes of their own, and injects faults: it kills
// the server and the clients with -9, some twice in a row, and stops them; it cuts and holds up their connections; it fills the disk under the store;
// it makes the server replace itself; it makes the clocks of the processes jump. Each client writes to a ledger what it has logged and what Flush has
// reported as acknowledged. At the end the ledgers are compared with the store and with a line file: the line file gets the records of all clients,
// and the store those of every second client.
//
//	go run ./internal/logfaults -for 30s
//	go run ./internal/logfaults -for 2m -records 1000000 -kills 50 -seed 42
//
// It prints how many faults and records there were, and exits with 1 if an acknowledged record is missing, is there twice, or is out of order. The
// seed determines what is broken and when, as far as one program can.
//
// All servers, mounts, folders and processes are its own, on loopback, and gone when it ends, however it ends. It builds the command meanwhile and
// itself, for which it needs the go command. In these programs the clock can jump, by hours or a year ahead or back, or to before 1970, for less than
// a second; clocks are trusted sooner, and journals are smaller. Filling the disk needs the right to mount.
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
	"github.com/meanwhile-go/meanwhile/process"
)

// A config has the flags of the program.
type config struct {
	role    string
	length  time.Duration
	records int
	kills   int
	clients int
	seed    uint64
	only    string
	dir     string
	keep    bool
	self    string // the program of the clients; tests set it to one that is already built
	command string // the program of the server

	// Of a process that the program starts.
	address, spool, ledger, name string
	begun                        int64
	last                         bool
	serve                        func(site *site) []string                   // how to start the server, in tests
	drive                        func(ctx context.Context, site *site) error // injects the faults instead of inject, in tests
	env                          []string
}

func main() {
	c, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		os.Exit(2) // parse has printed why
	}
	process.Config{Grace: time.Minute}.Main(func(ctx context.Context) error { return c.run(ctx, os.Stdout) }, meanwhile.Name("logfaults"))
}

func parse(args []string, usage io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("logfaults", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&c.role, "role", "", "what a process is for, when the program starts itself")
	flags.DurationVar(&c.length, "for", 30*time.Second, "break things for so long")
	flags.IntVar(&c.records, "records", 100_000, "log so many in that time, of all clients together")
	flags.IntVar(&c.kills, "kills", 20, "kill a server or a client so often in that time")
	flags.IntVar(&c.clients, "clients", 4, "client processes")
	flags.Uint64Var(&c.seed, "seed", rand.Uint64()>>32, "of what is drawn")
	flags.StringVar(&c.only, "only", "", "break only what has this `word` in its name in the table")
	flags.StringVar(&c.dir, "dir", "", "work in a new folder in this one; default that for temporary files")
	flags.BoolVar(&c.keep, "keep", false, "keep ledgers, store and line files")
	flags.StringVar(&c.address, "address", "", "of the server, for a process")
	flags.StringVar(&c.spool, "spool", "", "folder of a process")
	flags.StringVar(&c.ledger, "ledger", "", "file of a process")
	flags.StringVar(&c.name, "name", "", "of a process")
	flags.Int64Var(&c.begun, "begun", 0, "when the run began, for a process")
	flags.BoolVar(&c.last, "last", false, "whether a process only sends what is left")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if err := c.check(flags.Args()); err != nil {
		fmt.Fprintln(usage, "logfaults:", err)
		return c, err
	}
	return c, nil
}

func (c *config) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q is not understood: only flags are", rest)
	case c.length < time.Second:
		return errors.New("-for is at least 1s")
	case c.clients < 1 || c.records < c.clients || c.kills < 0:
		return errors.New("-clients is at least 1, -records at least one for each of them, and -kills is not negative")
	}
	return nil
}

// run runs the role of the process.
func (c config) run(ctx context.Context, out io.Writer) error {
	switch c.role {
	case "":
		return c.prove(ctx, out)
	case "client":
		return c.client(ctx)
	case "guard":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // they are meant for the program, for whose end the guard waits
		return harm.GuardUntil(os.Stdin)
	}
	return fmt.Errorf("-role %s: there is no such role", c.role)
}
