//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/logs/segment"
)

const (
	diskSize = 512 << 20 // bytes; a million records take a fifth of it
	service  = "logfaults"

	allKills = "killed in all"
)

// A site is what the run consists of.
type site struct {
	config
	self    string // the program
	folder  string
	guard   *harm.Guard
	disk    *harm.Disk // with the store
	proxy   *harm.Proxy
	port    int // of the server
	begunAt time.Time

	server  *process
	clients []*process

	mu         sync.Mutex
	counts     map[string]int
	violations []string // of processes
}

var errViolated = errors.New("what was promised was violated")

// violated notes that a process did not do as it should.
func (s *site) violated(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// count counts what happened, by its name in the table.
func (s *site) count(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[name]++
}

// prove breaks things, has everything end, compares, and prints the table.
func (c config) prove(ctx context.Context, out io.Writer) (err error) {
	s := &site{config: c, counts: map[string]int{}}
	if s.self, err = os.Executable(); err != nil {
		return err
	}
	if s.guard, err = harm.StartGuard(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.guard.End()) }()
	if s.folder, err = os.MkdirTemp(c.dir, "logfaults-*"); err != nil {
		return err
	}
	if c.keep {
		fmt.Fprintln(out, "kept in", s.folder)
	} else if err := s.guard.Tell(harm.HasFolder, s.folder); err != nil {
		return err
	}
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		if err := s.open(ctx); err != nil {
			return err
		}
		fmt.Fprintf(out, "seed %d, %v, %d clients\n", c.seed, c.length, c.clients)
		if err := s.live(ctx); err != nil {
			return err
		}
		return s.judge(ctx, out)
	}, meanwhile.Name("prove"))
}

// open prepares the folders, the program of the server, and the proxy.
func (s *site) open(ctx context.Context) (err error) {
	if err := os.Mkdir(s.ledgers(), 0o700); err != nil {
		return err
	}
	if s.keep {
		s.disk = &harm.Disk{Folder: filepath.Join(s.folder, "disk")}
		err = os.Mkdir(s.disk.Folder, 0o700)
	} else {
		s.disk, err = harm.NewDisk(filepath.Join(s.folder, "disk"), diskSize, s.guard)
	}
	if err != nil {
		return err
	}
	if s.command == "" && s.serve == nil {
		s.command = filepath.Join(s.folder, "meanwhile")
		build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", s.command, "github.com/meanwhile-go/meanwhile/cmd/meanwhile")
		if text, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the server: %w: %s", err, text)
		}
	}
	if s.port, err = freePort(); err != nil {
		return err
	}
	if s.proxy, err = harm.NewProxy(s.address()); err != nil {
		return err
	}
	meanwhile.Go(ctx, s.proxy.Serve, meanwhile.Name("proxy"), meanwhile.Background())
	return nil
}

func (s *site) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }
func (s *site) ledgers() string { return filepath.Join(s.folder, "ledgers") }
func (s *site) store() string   { return filepath.Join(s.disk.Folder, "store") }

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// live starts the processes and breaks things. Then the clients end in order, each is started once more to send what its
// spool has left, and at last the server ends.
func (s *site) live(ctx context.Context) error {
	s.begunAt = time.Now()
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		s.server = &process{site: s, name: "server", seed: s.seed, command: s.serverCommand}
		if s.serve == nil && adopt() == nil {
			s.server.pidFile = filepath.Join(s.folder, "server.pid")
		}
		server := meanwhile.Go(ctx, s.server.run, meanwhile.Name(s.server.name))
		var clients []*meanwhile.Task[meanwhile.Void]
		for i := range s.config.clients {
			p := &process{site: s, name: "client-" + strconv.Itoa(i+1), seed: s.seed + 1 + uint64(i)}
			p.command = func(name string) []string { return s.clientCommand(p, name, false) }
			s.clients = append(s.clients, p)
			clients = append(clients, meanwhile.Go(ctx, p.run, meanwhile.Name(p.name)))
		}
		if err := s.inject(ctx); err != nil {
			return err
		}
		if err := end(ctx, clients...); err != nil {
			return err
		}
		var left []*meanwhile.Task[meanwhile.Void]
		for _, p := range s.clients {
			p.last = true
			p.command = func(name string) []string { return s.clientCommand(p, name, true) }
			left = append(left, meanwhile.Go(ctx, p.once, meanwhile.Name(p.name+", what is left")))
		}
		for _, t := range left {
			if _, err := t.Wait(ctx); err != nil {
				return err
			}
		}
		return end(ctx, server)
	})
}

// end has the processes of tasks end in order, and waits for them.
func end(ctx context.Context, tasks ...*meanwhile.Task[meanwhile.Void]) error {
	for _, t := range tasks {
		t.Cancel(errDone)
	}
	var errs []error
	for _, t := range tasks {
		if _, err := t.Wait(ctx); err != nil && !errors.Is(err, errDone) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (s *site) serverCommand(string) []string {
	if s.serve != nil {
		return s.serve(s)
	}
	return []string{s.command, "logs", "serve", "--dir", s.store(), "--listen", s.address(), "--analogger=", "--http=", "--pid-file", s.server.pidFile}
}

func (s *site) clientCommand(p *process, name string, last bool) []string {
	command := []string{
		s.self, "-role", "client", "-name", name, "-address", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.proxy.Port())),
		"-spool", filepath.Join(s.folder, p.name), "-ledger", filepath.Join(s.ledgers(), name+".ledger"),
		"-clients", strconv.Itoa(s.config.clients), "-records", strconv.Itoa(s.records), "-for", s.length.String(),
		"-begun", strconv.FormatInt(s.begunAt.UnixNano(), 10),
	}
	if last {
		command = append(command, "-last")
	}
	return command
}

// judge compares the store with the ledgers, and prints what there was.
func (s *site) judge(ctx context.Context, out io.Writer) error {
	accounts, err := readLedgers(s.ledgers())
	if err != nil {
		return err
	}
	store, err := segment.Open(ctx, s.store(), segment.Config{})
	if err != nil {
		return err
	}
	defer store.Close()
	p := newProof(accounts)
	p.violations = s.violations
	if err := p.compare(store.Read(ctx, service, 1)); err != nil {
		return err
	}
	s.print(out, p)
	if n := len(p.violations) + p.hidden; n > 0 {
		return fmt.Errorf("%w %d times", errViolated, n)
	}
	return nil
}

// print prints the table, and what is wrong.
func (s *site) print(out io.Writer, p *proof) {
	for _, what := range slices.Sorted(maps.Keys(s.counts)) {
		fmt.Fprintf(out, "%9d  %s\n", s.counts[what], what)
	}
	var all account
	for _, a := range p.accounts {
		all.logged += a.logged
		all.acknowledged += a.must()
	}
	fmt.Fprintf(out, "%9d  processes of clients\n%9d  records logged\n%9d  acknowledged, or left to the spool by Close\n%9d  stored\n%9d  violations\n",
		len(p.accounts), all.logged, all.acknowledged, p.records, len(p.violations)+p.hidden)
	for _, v := range p.violations {
		fmt.Fprintln(out, "VIOLATED:", v)
	}
	if p.hidden > 0 {
		fmt.Fprintln(out, "and", p.hidden, "more")
	}
}
