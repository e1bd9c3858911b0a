package faktory_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/faktory"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/job/postgres"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// patience is how long a test waits for something that must happen.
const patience = 20 * time.Second

// stores has a function that opens a new store of each kind.
var stores = map[string]func(t testing.TB) job.Store{
	"memory": func(testing.TB) job.Store { return memory.New() },
	"sqlite": func(t testing.TB) job.Store {
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	},
	"postgres": func(t testing.TB) job.Store { return openPostgres(t, database(t)) },
}

func openPostgres(t testing.TB, url string) job.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// database creates a database for the duration of a test, and returns its URL.
func database(t testing.TB) string {
	t.Helper()
	config, err := pgx.ParseConfig(testenv.PostgresURL())
	if err != nil {
		t.Fatal(err)
	}
	do := func(sql string) error {
		ctx, cancel := context.WithTimeout(context.Background(), 6*patience)
		defer cancel()
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, sql)
		return err
	}
	name := "meanwhile_test_" + strings.ToLower(rand.Text()[:12])
	if err := do("create database " + name); err != nil {
		testenv.PostgreSQL.Missing(t, err)
	}
	t.Cleanup(func() {
		if err := do("drop database " + name + " with (force)"); err != nil {
			t.Errorf("drop database %s: %v", name, err)
		}
	})
	return testenv.PostgresDatabase(name)
}

// A rig is a server over a store.
type rig struct {
	testing.TB
	store   job.Store
	address string
	stop    func() // stops the server, and returns when it has ended
}

func newRig(t testing.TB, c faktory.Config) *rig {
	t.Helper()
	if c.Store == nil {
		c.Store = memory.New()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	server, err := faktory.New(c)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	r := &rig{TB: t, store: c.Store, address: listener.Addr().String()}
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("serve: %v", err)
			}
		case <-time.After(patience):
			t.Error("the server does not stop")
		}
	}
	t.Cleanup(r.stop)
	return r
}

// overEachStore runs a test with a server over each kind of store.
func overEachStore(t *testing.T, test func(r *rig)) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			t.Cleanup(func() { _ = store.Close() })
			test(newRig(t, faktory.Config{Store: store, Flush: true}))
		})
	}
}

// A peer is a client's connection.
type peer struct {
	testing.TB
	socket net.Conn
	reader *bufio.Reader
	hi     string
}

// dial connects and sends HELLO; "" is for a producer.
func (r *rig) dial(hello string) *peer {
	r.Helper()
	p, err := connect(r, r.address)
	if err != nil {
		r.Fatal(err)
	}
	if hello == "" {
		hello = `{"v":2}`
	}
	p.want("HELLO "+hello, "+OK")
	return p
}

// worker is dial for a program that runs jobs.
func (r *rig) worker(wid string) *peer {
	r.Helper()
	return r.dial(`{"v":2,"wid":"` + wid + `","hostname":"host-1","pid":42,"labels":["ruby-3.1"]}`)
}

// connect connects, and reads the greeting.
func connect(t testing.TB, address string) (*peer, error) {
	socket, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	p := newPeer(t, socket)
	p.hi, err = p.read()
	return p, err
}

func newPeer(t testing.TB, socket net.Conn) *peer {
	t.Cleanup(func() { _ = socket.Close() })
	return &peer{TB: t, socket: socket, reader: bufio.NewReader(socket)}
}

// read reads an answer: a bulk as its text, nil as "nil".
func (p *peer) read() (string, error) {
	_ = p.socket.SetReadDeadline(time.Now().Add(3 * patience))
	line, err := p.reader.ReadString('\n')
	if err != nil {
		return "", err
	}
	if !strings.HasSuffix(line, "\r\n") {
		return "", fmt.Errorf("the line %q does not end in CRLF", line)
	}
	line = strings.TrimSuffix(line, "\r\n")
	if !strings.HasPrefix(line, "$") {
		return line, nil
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil || n < 0 {
		return "nil", err
	}
	text := make([]byte, n+2)
	if _, err := io.ReadFull(p.reader, text); err != nil {
		return "", err
	}
	return string(text[:n]), nil
}

func (p *peer) tell(command string) (string, error) {
	if _, err := io.WriteString(p.socket, command+"\r\n"); err != nil {
		return "", err
	}
	return p.read()
}

func (p *peer) ask(command string) string {
	p.Helper()
	answer, err := p.tell(command)
	if err != nil {
		p.Fatalf("%.80s: %v", command, err)
	}
	return answer
}

// want checks that the answer has a prefix.
func (p *peer) want(command, want string) {
	p.Helper()
	if got := p.ask(command); !strings.HasPrefix(got, want) {
		p.Fatalf("%.200s: got %.300q, want %q", command, got, want)
	}
}

// A task is a job as a client gets it.
type task struct {
	JID      string          `json:"jid"`
	Queue    string          `json:"queue"`
	Type     string          `json:"jobtype"`
	Args     json.RawMessage `json:"args"`
	Retry    int             `json:"retry"`
	Reserve  int             `json:"reserve_for"`
	Custom   map[string]any  `json:"custom"`
	Enqueued string          `json:"enqueued_at"`
	Created  string          `json:"created_at"`
	Priority int             `json:"priority"`
	Failure  *struct {
		Count     int      `json:"retry_count"`
		Remaining int      `json:"remaining"`
		Message   string   `json:"message"`
		Type      string   `json:"errtype"`
		Backtrace []string `json:"backtrace"`
	} `json:"failure"`
}

// fetch fetches a job, nil for none.
func (p *peer) fetch(queues string) *task {
	p.Helper()
	got := p.ask("FETCH " + queues)
	if got == "nil" {
		return nil
	}
	var t task
	if err := json.Unmarshal([]byte(got), &t); err != nil {
		p.Fatalf("FETCH: %v: %q", err, got)
	}
	return &t
}

// fetchOne fetches until there is a job.
func (p *peer) fetchOne(queues string) *task {
	p.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if t := p.fetch(queues); t != nil {
			return t
		}
	}
	p.Fatal("no job came")
	return nil
}

func (p *peer) object(command string) map[string]any {
	p.Helper()
	var v map[string]any
	if got := p.ask(command); json.Unmarshal([]byte(got), &v) != nil {
		p.Fatalf("%s: %q is not an object", command, got)
	}
	return v
}

// closed checks that the server has closed the connection.
func (p *peer) closed() {
	p.Helper()
	if got, err := p.read(); !errors.Is(err, io.EOF) {
		p.Errorf("got %q, %v; want a closed connection", got, err)
	}
}

// byJID returns the jobs with a jid.
func (r *rig) byJID(jid string) []*job.Job {
	r.Helper()
	jobs, err := r.store.List(context.Background(), job.Filter{Meta: map[string]string{job.MetaID: jid}, Limit: 10})
	if err != nil {
		r.Fatal(err)
	}
	return jobs
}

// one returns the job with a jid.
func (r *rig) one(jid string) *job.Job {
	r.Helper()
	jobs := r.byJID(jid)
	if len(jobs) != 1 {
		r.Fatalf("there are %d jobs %s, want 1", len(jobs), jid)
	}
	return jobs[0]
}

// makeDue makes a scheduled job due.
func (r *rig) makeDue(jid string) {
	r.Helper()
	done, err := job.Apply(context.Background(), r.store, job.Filter{IDs: []job.ID{r.one(jid).ID}}, job.ActionRunAt(time.Now().Add(-time.Second)))
	if err != nil || done.Changed != 1 {
		r.Fatalf("made %d jobs due, %v", done.Changed, err)
	}
}

// hash returns the password hash that a greeting asks for.
func hash(t testing.TB, hi, password string) string {
	t.Helper()
	var asked struct {
		I int    `json:"i"`
		S string `json:"s"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(hi, "+HI ")), &asked); err != nil || asked.I == 0 {
		t.Fatalf("the greeting %q asks for no password: %v", hi, err)
	}
	sum := sha256.Sum256([]byte(password + asked.S))
	for range asked.I - 1 {
		sum = sha256.Sum256(sum[:])
	}
	return hex.EncodeToString(sum[:])
}

func configWith(store job.Store) faktory.Config { return faktory.Config{Store: store} }
