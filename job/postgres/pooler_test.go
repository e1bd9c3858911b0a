package postgres_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

// TestStoreBehindPooler runs the contract through a pooler, on a server whose clock is an hour behind ours. libfaketime sets it; it could not
// set one ahead, since the timers of such a server do not fire, and with them goes its finding of deadlocks.
func TestStoreBehindPooler(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	library, err := testenv.FakeTimePath()
	if err != nil {
		testenv.FakeTime.Missing(t, err)
	}
	p := newPooler(t, newServer(t, "LD_PRELOAD="+library, "FAKETIME=-3600").url())
	empty := emptied(t, p.url)
	jobtest.TestStore(t, func(t *testing.T) job.Store {
		p.check(t)
		empty(t)
		return open(t, p.url)
	})
}

// TestWaitBehindPooler: notices do not come through, so that Wait has to say by itself that somebody should look.
func TestWaitBehindPooler(t *testing.T) {
	s := open(t, newPooler(t, database(t, server())).url)
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second) // less than the time after which Wait returns anyway
		if _, err := s.Wait(ctx, job.DefaultQueue); err != nil {
			t.Errorf("Wait = %v", err)
		}
		cancel()
	}
}

// TestPoolerOutlivesCancelRequests abandons requests to cancel queries while they have to wait, as clients do on a busy machine:
// PgBouncer 1.18 would exit.
func TestPoolerOutlivesCancelRequests(t *testing.T) {
	p := newPooler(t, database(t, server()))
	var conns []*pgx.Conn
	for range 2 * poolSize {
		conn, err := pgx.Connect(t.Context(), p.url)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	t.Cleanup(func() {
		for _, conn := range conns {
			_ = conn.Close(context.Background())
		}
	})
	for range 20 {
		ended := make(chan error, len(conns))
		for _, conn := range conns {
			go func() { _, err := conn.Exec(t.Context(), "select pg_sleep(0.05)"); ended <- err }()
			for range 5 {
				go func() { // some of them go away while their request waits
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
					defer cancel()
					_ = conn.PgConn().CancelRequest(ctx)
				}()
			}
		}
		for range conns {
			if err := <-ended; err != nil {
				p.check(t)
				t.Fatal(err)
			}
		}
	}
}

const poolSize = 4 // connections to the server: fewer than a store has to the pooler

// A pooler is a PgBouncer in transaction mode before a server.
type pooler struct {
	*folder
	url   string // of the database, through it
	port  int
	ended chan struct{} // closed when its process has
	state *os.ProcessState
}

// newPooler starts one for the time of a test.
func newPooler(t testing.TB, url string) *pooler {
	t.Helper()
	path := testenv.Program(t, "pgbouncer")
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	p := &pooler{folder: newFolder(t), port: freePort(t), ended: make(chan struct{})}
	p.write("users", fmt.Sprintf("%q \"\"\n", config.User))
	p.write("pgbouncer.ini", fmt.Sprintf(`[databases]
* = host=%s port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = users
pool_mode = transaction
default_pool_size = %d
max_client_conn = 1000
`, config.Host, config.Port, p.port, poolSize))
	p.start(path)
	p.url = fmt.Sprintf("postgres://%s@%s/%s", config.User, p.front(), config.Database)
	eventually(t, "the pooler answers", func() error {
		p.check(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, p.url)
		if err == nil {
			err = conn.Close(ctx)
		}
		return err
	})
	return p
}

// start starts its process until the end of the test, which fails if it has ended before.
func (p *pooler) start(path string) {
	p.t.Helper()
	log, err := os.Create(p.logFile())
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	c := p.command(path, "pgbouncer.ini")
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	guardProcess(p.t, c.Process)
	go func() {
		defer close(p.ended)
		_ = c.Wait() // see check
		p.state = c.ProcessState
	}()
	p.t.Cleanup(func() {
		defer unguardProcess(p.t, c.Process)
		p.check(p.t)
		_ = c.Process.Kill()
		<-p.ended
	})
}

func (p *pooler) logFile() string { return filepath.Join(p.path, "pgbouncer.log") }

// check ends a test when the pooler has ended, and shows its last words.
func (p *pooler) check(t testing.TB) {
	t.Helper()
	select {
	case <-p.ended:
		t.Fatalf("the pooler has ended: %v\n%s", p.state, lastLines(p.logFile()))
	default:
	}
}

// lastLines returns the last lines of a log.
func lastLines(path string) []byte {
	const most = 20
	text, err := os.ReadFile(path)
	if err != nil {
		return []byte(err.Error())
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	return bytes.Join(lines[max(len(lines)-most-1, 0):], nil)
}

// front listens for the pooler, and returns the address. It passes all on but requests to cancel a query: PgBouncer 1.18, which
// Debian 12 has, ends with "bad client state" when a client goes away whose request has to wait (pgbouncer/pgbouncer#801).
// Such a request promises nothing, and without it the query runs to its end.
func (p *pooler) front() (address string) {
	p.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // closed
			}
			go p.pass(client)
		}
	}()
	return l.Addr().String()
}

// pass passes on what comes from both ends of a connection, until one of them ends it.
func (p *pooler) pass(client net.Conn) {
	defer client.Close()
	first, err := firstMessage(client)
	if err != nil || binary.BigEndian.Uint32(first[4:]) == cancelRequest {
		return
	}
	upstream, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)))
	if err != nil {
		return
	}
	defer upstream.Close()
	go func() {
		defer client.Close()
		_, _ = io.Copy(client, upstream)
	}()
	if _, err := upstream.Write(first); err == nil { // at once: PgBouncer takes no part of it
		_, _ = io.Copy(upstream, client)
	}
}

const cancelRequest = 1234<<16 | 5678 // what a first message may ask for, behind its length

func firstMessage(r io.Reader) ([]byte, error) {
	message := make([]byte, 4)
	if _, err := io.ReadFull(r, message); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(message)
	if n < 8 || n > 10_000 {
		return nil, fmt.Errorf("the first message has %d bytes", n)
	}
	message = append(message, make([]byte, n-4)...)
	_, err := io.ReadFull(r, message[4:])
	return message, err
}
