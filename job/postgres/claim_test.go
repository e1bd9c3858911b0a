package postgres_test

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
)

// A cutConn closes the connection instead of returning the answer to a statement while cut is set. The server has run the
// statement.
type cutConn struct {
	net.Conn
	cut  *atomic.Pointer[string] // a part of the statement
	lost atomic.Bool
}

func (c *cutConn) Write(b []byte) (int, error) {
	if part := c.cut.Load(); part != nil && bytes.Contains(b, []byte(*part)) {
		c.cut.Store(nil)
		c.lost.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.lost.Load() {
		return 0, net.ErrClosed
	}
	return n, err
}

// openCut makes a store that loses the answer to the next statement that contains the text stored in cut.
func openCut(t *testing.T) (s *postgres.Store, cut *atomic.Pointer[string]) {
	t.Helper()
	url := database(t, server())
	open(t, url)
	config, err := pgxpool.ParseConfig(url + "?sslmode=disable&default_query_exec_mode=cache_describe") // this mode sends the text of each statement
	if err != nil {
		t.Fatal(err)
	}
	cut = new(atomic.Pointer[string])
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return &cutConn{Conn: conn, cut: cut}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if s, err = postgres.New(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the caller closes the pool, the store does not
	return s, cut
}

// TestClaimSaysThatMoreMayBeTaken: a claim fails if it has claimed jobs of one queue and does not know whether it has claimed one of another; the
// next claim returns all of them. Otherwise a live session would hold a job that nobody runs.
func TestClaimSaysThatMoreMayBeTaken(t *testing.T) {
	for name, test := range map[string]struct {
		statement string
		expired   bool // the job that is claimed first has an expired lease
	}{
		"the commit of a queue with limits": {"commit\x00", false},
		"a plain statement":                 {"claim_strict", true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			s, cut := openCut(t)
			claim := func(c job.Claim) (job.Claimed, error) {
				c.Worker, c.Limit, c.Lease = "w", 10, time.Minute
				c.Queues = []job.QueueLimit{{Queue: "a", Limit: 5}, {Queue: "b", Limit: 5}}
				return s.Claim(ctx, c)
			}
			if _, err := s.Insert(ctx, newJob(t, job.Queue("a"))); err != nil {
				t.Fatal(err)
			}
			if test.expired {
				if got, err := claim(job.Claim{Session: 1, Call: 1}); err != nil || len(got.Jobs) != 1 {
					t.Fatalf("claimed %+v, %v", got, err)
				}
				if err := s.Leave(ctx, "w", 1); err != nil {
					t.Fatal(err)
				}
			} else if err := s.SetLimits(ctx, "b", job.Limits{Running: 5}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Insert(ctx, newJob(t, job.Queue("b"))); err != nil {
				t.Fatal(err)
			}
			cut.Store(&test.statement)
			if got, err := claim(job.Claim{Session: 2, Call: 1, Expired: true}); err == nil {
				t.Errorf("a claim of which an answer was lost returned %d jobs and no error", len(got.Jobs))
			}
			if cut.Load() != nil {
				t.Fatalf("there was no %s", test.statement)
			}
			if got, err := claim(job.Claim{Session: 2, Call: 2, Since: 1}); err != nil || len(got.Jobs) != 2 {
				t.Errorf("the next claim returned %d jobs, %v, want both", len(got.Jobs), err)
			}
		})
	}
}
