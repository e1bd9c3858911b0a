package redis_test

import (
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/meanwhile-go/meanwhile"
)

// TestAddressMoves makes an address lead to another server, and the first server its replica: the call that detects this fails, and
// the next one uses the new server.
func TestAddressMoves(t *testing.T) {
	first, second := ownServer(t), ownServer(t)
	var upstream atomic.Pointer[server]
	upstream.Store(first)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error { return forward(ctx, l, &upstream) }, meanwhile.InBackground())
		s := open(t, "redis://"+l.Addr().String())
		if _, err := s.Insert(ctx, newJob(t, "before")); err != nil {
			return err
		}
		upstream.Store(second)
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
	if err != nil {
		t.Fatal(err)
	}
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
