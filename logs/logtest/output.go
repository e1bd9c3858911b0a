//go:build unix

package logtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/forward"
)

// An OtherSide is the server that an output sends to, in a test of the output.
type OtherSide struct {
	Address string                                            // host and port of the server
	Open    func(t *testing.T, address string) forward.Output // returns an output that sends to it through another address
	Kept    func(t *testing.T, services ...string) []Identity // what it keeps of some services, in its order
	Once    bool                                              // it knows duplicates by their identity and leaves them out
	Records int                                               // of each service; default 3000
}

// An Identity is what the other side knows of a record.
type Identity struct{ Service, Identity string }

// TestOutput sends records over connections that are cut and stalled, with forwarders that are stopped and started again with an old
// cursor. It fails unless the other side has all records, in order, and, if Once is set, none twice.
func TestOutput(t *testing.T, other OtherSide) {
	t.Helper()
	if other.Records == 0 {
		other.Records = 3000
	}
	proxy, err := harm.NewProxy(other.Address)
	if err != nil {
		t.Fatal(err)
	}
	run := fmt.Sprintf("%08x", rand.Uint32()) // the server may know services of earlier tests
	services := []string{"one " + run, "two-" + run, "größe." + run}
	shelf := NewShelf()
	cursor := filepath.Join(t.TempDir(), "cursor")
	errEnough := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Minute, errors.New("the records take too long"))
	defer cancel()
	err = meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, proxy.Serve, meanwhile.InBackground())
		random := rand.New(rand.NewPCG(1, 2))
		const lives = 4
		for life := range lives {
			output := other.Open(t, fmt.Sprintf("127.0.0.1:%d", proxy.Port()))
			f := &forward.Forwarder{
				Store: shelf, Output: output, Cursor: cursor, Records: 100, Interval: time.Millisecond,
				RetryMin: time.Millisecond, RetryMax: 20 * time.Millisecond, Timeout: 5 * time.Second, Logger: slog.New(slog.DiscardHandler),
			}
			if life%2 == 1 {
				f.Cursor = cursor + " of the life before" // as if the previous forwarder was killed before it saved its cursor
			}
			forwarding := meanwhile.Go(ctx, func(ctx context.Context) error {
				if err := f.Run(ctx); !errors.Is(err, errEnough) {
					return fmt.Errorf("forward: %w", err)
				}
				return nil
			})
			for range 10 { // each adds records, and stalls and cuts connections
				for _, service := range services {
					shelf.Add(service, other.Records/lives/10)
				}
				proxy.Hold()
				if err := meanwhile.Sleep(ctx, time.Duration(random.IntN(4))*time.Millisecond); err != nil {
					return err
				}
				proxy.CutSome(random)
				proxy.Release()
				if err := meanwhile.Sleep(ctx, time.Duration(random.IntN(20))*time.Millisecond); err != nil {
					return err
				}
			}
			for life == lives-1 && !allSent(f, len(services)) {
				if err := meanwhile.Sleep(ctx, time.Millisecond); err != nil {
					return fmt.Errorf("%w: %+v", err, f.Stats())
				}
			}
			forwarding.Cancel(errEnough)
			if _, err := forwarding.Wait(ctx); err != nil && !errors.Is(err, errEnough) {
				return err
			}
			if err := output.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	kept := other.Kept(t, services...)
	for _, service := range services {
		checkKept(t, shelf.Records(service), kept, service, other.Once)
	}
}

func allSent(f *forward.Forwarder, services int) bool {
	stats := f.Stats()
	for _, s := range stats {
		if s.Lag > 0 {
			return false
		}
	}
	return len(stats) == services
}

// checkKept fails unless each record is there, for the first time in order.
func checkKept(t *testing.T, want []logs.Record, kept []Identity, service string, once bool) {
	t.Helper()
	seen, next, again := map[string]bool{}, 0, 0
	for _, k := range kept {
		switch {
		case k.Service != service:
		case seen[k.Identity]:
			again++
		case next == len(want) || k.Identity != want[next].Identity():
			t.Errorf("%s: %q came as record %d", service, k.Identity, next+1)
			return
		default:
			seen[k.Identity] = true
			next++
		}
	}
	if next < len(want) {
		t.Errorf("%s: %d of %d records arrived", service, next, len(want))
	}
	if once && again > 0 {
		t.Errorf("%s: %d records were kept twice", service, again)
	}
	t.Logf("%s: %d records, %d came twice", service, next, again)
}
