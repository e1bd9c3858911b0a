package redis_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// withMovingAddress calls fn with an address that leads to the first of two servers, and to the second after move.
func withMovingAddress(t *testing.T, fn func(ctx context.Context, address string, first, second *server, move func()) error) {
	t.Helper()
	first, second := ownServer(t), ownServer(t)
	var upstream atomic.Pointer[server]
	upstream.Store(first)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error { return forward(ctx, l, &upstream) }, meanwhile.InBackground())
		return fn(ctx, l.Addr().String(), first, second, func() { upstream.Store(second) })
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAddressMoves makes an address lead to another server, and the first server its replica: the call that detects this fails, and
// the next one uses the new server.
func TestAddressMoves(t *testing.T) {
	withMovingAddress(t, func(ctx context.Context, address string, first, second *server, move func()) error {
		s := open(t, "redis://"+address)
		if _, err := s.Insert(ctx, newJob(t, "before")); err != nil {
			return err
		}
		move()
		first.do(t, "REPLICAOF", "127.0.0.1", strconv.Itoa(second.port))
		if _, err := s.Insert(ctx, newJob(t, "lost")); err == nil || !strings.Contains(err.Error(), "takes no writes, as a replica does; the next call connects anew") {
			t.Errorf("insert into a replica: %v", err)
		}
		if _, err := s.Insert(ctx, newJob(t, "after")); err != nil {
			t.Errorf("insert after it: %v", err)
		}
		counts, err := s.Counts(ctx)
		if err != nil || len(counts) != 1 || counts[0].Kind != "after" {
			t.Errorf("the second server has %+v, %v", counts, err)
		}
		return s.Close()
	})
}

// TestWaitAfterTheAddressMoves: Wait listens at the server that calls use after the address has moved to it, and no connection is left at the old one.
func TestWaitAfterTheAddressMoves(t *testing.T) {
	withMovingAddress(t, func(ctx context.Context, address string, first, second *server, move func()) error {
		s, other := open(t, "redis://"+address), open(t, "redis://"+second.address())
		wait := func(d time.Duration) error {
			ctx, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			_, err := s.Wait(ctx, job.DefaultQueue)
			return err
		}
		for wait(100*time.Millisecond) == nil { // until it listens
		}
		move()
		first.do(t, "REPLICAOF", "127.0.0.1", "1") // it receives no messages of the second
		waiting := meanwhile.Go(ctx, func(context.Context) error {
			for wait(10*time.Second) == nil { // until it has no news: it is woken by the move
				jobs, err := s.List(ctx, job.Filter{Limit: 1})
				if err != nil || len(jobs) > 0 {
					return err
				}
			}
			return errors.New("a wait that began before the move did not return for a job")
		})
		_, _ = s.Insert(ctx, newJob(t, "lost")) // fails, and the next call connects anew
		if err := s.Ping(ctx); err != nil {
			return err
		}
		eventually(t, func() bool { // it listens at the second server
			return strings.Contains(second.do(t, "PUBSUB", "NUMSUB", "{meanwhile}:wake"), ":1")
		})
		if _, err := other.Insert(ctx, newJob(t, "k")); err != nil {
			return err
		}
		if _, err := waiting.Wait(ctx); err != nil {
			t.Error(err)
		}
		eventually(t, func() bool { return strings.Count(first.do(t, "CLIENT", "LIST"), "addr=") <= 2 }) // "laddr=" of this one counts, too
		return s.Close()
	})
}

// forward forwards each connection to the server that is the upstream when the connection starts.
func forward(ctx context.Context, l net.Listener, upstream *atomic.Pointer[server]) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	return meanwhile.Supervise(ctx, func(ctx context.Context) error {
		for {
			client, err := l.Accept()
			if err != nil {
				return context.Cause(ctx)
			}
			s, err := net.Dial("tcp", upstream.Load().address())
			if err != nil {
				client.Close()
				continue
			}
			for _, ends := range [][2]net.Conn{{client, s}, {s, client}} {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					defer context.AfterFunc(ctx, func() { ends[1].Close() })()
					defer ends[0].Close()
					_, _ = io.Copy(ends[0], ends[1]) // until either end is closed
					return nil
				})
			}
		}
	})
}
