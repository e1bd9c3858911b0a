package logs

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"

	"github.com/meanwhile-go/meanwhile/bench/logs/load"
	"github.com/meanwhile-go/meanwhile/logs/analogger"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
	logserver "github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/syslog"
)

// BenchmarkInHere is BenchmarkIn with 8 connections and the server in this process, for -cpuprofile. The figures include the
// sender.
func BenchmarkInHere(b *testing.B) {
	n := size(1_000_000, 2_000)
	for _, f := range load.Formats {
		b.Run("in="+string(f), func(b *testing.B) {
			for b.Loop() {
				inHere(b, load.Load{Format: f, Connections: 8, Messages: n})
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "messages/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func inHere(b *testing.B, l load.Load) {
	var protocol input.Protocol = &syslog.Protocol{}
	if l.Format == load.Analogger {
		protocol = &analogger.Protocol{}
	}
	l.Address = at(freePort(b))
	name := filepath.Join(b.TempDir(), outcome)
	defer os.Remove(name)
	s, err := logserver.New(logserver.Config{
		Routes:    []logserver.Route{{To: []logserver.Destination{{File: &linefile.Config{Path: name}}}}},
		Listeners: []logserver.Listener{{Name: string(l.Format), Address: l.Address, Protocol: protocol}},
		Sync:      linefile.SyncInterval, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	err = meanwhile.Run(b.Context(), func(ctx context.Context) error {
		serving := meanwhile.Go(ctx, s.Run)
		for err = l.Send(ctx); err != nil; err = l.Send(ctx) { // until the server listens
			if err := meanwhile.Sleep(ctx, 10*time.Millisecond); err != nil {
				return err
			}
		}
		grown(b, name, l.Messages)
		serving.Cancel(nil)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
