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
	diskSize = 512 << 20 // bytes; a million records use two fifths of it
	module   = "github.com/meanwhile-go/meanwhile"
	keepAge  = time.Hour // older records may be deleted; none are that old, except by a wrong clock

	// Records of service go to the store and to a line file, those of lineService to that file alone.
	service     = "logfaults"
	lineService = "logfaults-lines"

	allKills = "killed in all"
)

// A site has the parts of the run.
type site struct {
	config
	folder  string
	guard   *harm.Guard
	disk    *harm.Disk // with the store
	proxy   *harm.Proxy
	port    int           // of the server
	built   time.Duration // how long it took to build the programs
	begunAt time.Time

	server  *harm.Process
	clients []*harm.Process

	mu         sync.Mutex
	counts     map[string]int
	violations []string // of processes
}

var errViolated = errors.New("what was promised was violated")

// violated records that a process did not end as it should.
func (s *site) violated(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// count adds one to a row of the table.
func (s *site) count(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[name]++
}

// prove injects faults, ends all processes, compares the ledgers with the stored records, and prints the table.
func (c config) prove(ctx context.Context, out io.Writer) (err error) {
	s := &site{config: c, counts: map[string]int{}}
	if s.guard, err = harm.StartGuard(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.guard.End()) }()
	if s.folder, err = os.MkdirTemp(c.dir, "logfaults-*"); err != nil {
		return err
	}
	if c.keep {
		fmt.Fprintln(out, "kept in", s.folder)
	} else if err := s.guard.Report(harm.HasFolder, s.folder); err != nil {
		return err
	}
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		if err := s.open(ctx); err != nil {
			return err
		}
		fmt.Fprintf(out, "seed %d, %v, %d clients; built in %v\n", c.seed, c.length, c.clients, s.built.Round(100*time.Millisecond))
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
	if s.self == "" {
		if err := s.build(ctx); err != nil {
			return err
		}
	}
	if err := os.WriteFile(s.routes(), fmt.Appendf(nil, routesText, s.lines()), 0o600); err != nil {
		return err
	}
	if s.port, err = harm.FreePort(); err != nil {
		return err
	}
	if s.proxy, err = harm.NewProxy(s.address()); err != nil {
		return err
	}
	meanwhile.Go(ctx, s.proxy.Serve, meanwhile.Name("proxy"), meanwhile.InBackground())
	return nil
}

// hasty are changes that make the programs do within seconds what otherwise takes much longer: trust their clock, and convert journals.
var hasty = []harm.Change{
	{Package: module + "/internal/clockcheck", File: "clock.go", Old: "TrustAfter = 10 * time.Minute", New: "TrustAfter = time.Second"},
	{Package: module + "/logs/segment", File: "config.go", Old: "cmp.Or(c.JournalBytes, 128<<20)", New: "cmp.Or(c.JournalBytes, 256<<10)"},
}

// build builds the programs of the clients and of the server, whose clocks can jump.
func (s *site) build(ctx context.Context) error {
	begun := time.Now()
	s.self, s.command = filepath.Join(s.folder, "logfaults"), filepath.Join(s.folder, "meanwhile")
	err := harm.Go(ctx, s.folder, hasty, []string{"build", "-o", s.folder}, module+"/internal/logfaults", module+"/cmd/meanwhile")
	s.built = time.Since(begun)
	return err
}

func (s *site) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }
func (s *site) ledgers() string { return filepath.Join(s.folder, "ledgers") }
func (s *site) store() string   { return filepath.Join(s.disk.Folder, "store") }
func (s *site) lines() string   { return filepath.Join(s.disk.Folder, "lines.log") }
func (s *site) routes() string  { return filepath.Join(s.folder, "logs.yaml") }

// routesText rotates the line file often, but not so often that the times of the rotated files do not show their order.
const routesText = `routes:
  - service: ` + service + `
    to: [store, {file: %[1]q, max-bytes: 1MB}]
  - service: ` + lineService + `
    to: {file: %[1]q, max-bytes: 1MB}
`

// live starts the processes and injects faults. Then the clients end in order, each is started once more to send what is left in its spool, and at
// last the server ends.
func (s *site) live(ctx context.Context) error {
	s.begunAt = time.Now()
	if err := s.makeProcesses(); err != nil {
		return err
	}
	if err := s.beginWrong(); err != nil {
		return err
	}
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		server := meanwhile.Go(ctx, s.server.Run, meanwhile.Name(s.server.Name))
		var clients []*meanwhile.Task[struct{}]
		for _, p := range s.clients {
			clients = append(clients, meanwhile.Go(ctx, p.Run, meanwhile.Name(p.Name)))
		}
		if err := s.inject(ctx); err != nil {
			return err
		}
		if err := harm.End(ctx, clients...); err != nil {
			return err
		}
		var left []*meanwhile.Task[struct{}]
		for _, p := range s.clients {
			p.MayEnd = (*os.ProcessState).Success
			p.Command = func(name string, _ int) []string { return s.clientCommand(p, name, true) }
			left = append(left, meanwhile.Go(ctx, p.Once, meanwhile.Name(p.Name+", what is left")))
		}
		for _, t := range left {
			if _, err := t.Wait(ctx); err != nil {
				return err
			}
		}
		return harm.End(ctx, server)
	})
}

// makeProcesses makes the server and the clients, and does not start them.
func (s *site) makeProcesses() (err error) {
	make := func(name string, seed uint64) *harm.Process {
		p := &harm.Process{Name: name, Env: s.env, Folder: s.folder, Seed: s.seed + seed, Guard: s.guard, Violated: s.violated}
		if err == nil {
			p.Clock, err = harm.NewClock(filepath.Join(s.folder, name+".clock"))
		}
		return p
	}
	s.server = make("server", 0)
	s.server.Command = s.serverCommand
	if s.serve == nil && harm.BecomeSubreaper() == nil {
		s.server.PIDFile = filepath.Join(s.folder, "server.pid")
	}
	for i := range s.config.clients {
		p := make("client-"+strconv.Itoa(i+1), uint64(i)+1)
		p.Command = func(name string, _ int) []string { return s.clientCommand(p, name, false) }
		s.clients = append(s.clients, p)
	}
	return err
}

func (s *site) serverCommand(string, int) []string {
	if s.serve != nil {
		return s.serve(s)
	}
	return []string{
		s.command, "logs", "serve", "--config", s.routes(), "--dir", s.store(), "--keep-age", keepAge.String(), "--listen", s.address(),
		"--analogger=", "--http=", "--pid-file", s.server.PIDFile,
	}
}

func (s *site) clientCommand(p *harm.Process, name string, last bool) []string {
	records, length := s.records, s.length
	if s.drive != nil { // the time that it takes is not known: clients continue at the same rate
		records, length = 100*records, 100*length
	}
	command := []string{
		s.self, "-role", "client", "-name", name, "-address", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.proxy.Port())),
		"-spool", filepath.Join(s.folder, p.Name), "-ledger", filepath.Join(s.ledgers(), name+".ledger"),
		"-clients", strconv.Itoa(s.config.clients), "-records", strconv.Itoa(records), "-for", length.String(),
		"-begun", strconv.FormatInt(s.begunAt.UnixNano(), 10),
	}
	if last {
		command = append(command, "-last")
	}
	return command
}

// judge compares the ledgers with the store and the line files, and prints the result.
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
	stored := maps.Clone(accounts)
	maps.DeleteFunc(stored, func(name string, _ *account) bool { return serviceOf(name) != service })
	p := newProof(stored)
	p.violations = s.violations
	if err := p.compare(store.Read(ctx, service, 1)); err != nil {
		return err
	}
	lines := newProof(accounts)
	if err := lines.compareLines(s.lines()); err != nil {
		return err
	}
	s.print(out, p, lines)
	if n := p.count() + lines.count(); n > 0 {
		return fmt.Errorf("%w %d times", errViolated, n)
	}
	return nil
}

// print prints the table and the violations.
func (s *site) print(out io.Writer, stored, lines *proof) {
	for _, what := range slices.Sorted(maps.Keys(s.counts)) {
		fmt.Fprintf(out, "%9d  %s\n", s.counts[what], what)
	}
	var all account
	for _, a := range lines.accounts {
		all.logged += a.logged
		all.acknowledged += a.must()
	}
	fmt.Fprintf(out, "%9d  processes of clients\n%9d  records logged\n%9d  acknowledged, or left to the spool by Close\n%9d  stored\n%9d  in line files\n%9d  violations\n",
		len(lines.accounts), all.logged, all.acknowledged, stored.records, lines.records, stored.count()+lines.count())
	for _, v := range append(stored.violations, lines.violations...) {
		fmt.Fprintln(out, "VIOLATED:", v)
	}
	if n := stored.hidden + lines.hidden; n > 0 {
		fmt.Fprintln(out, "and", n, "more")
	}
}
