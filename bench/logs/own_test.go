package logs

import (
	"strconv"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/bench/logs/load"
	"github.com/meanwhile-go/meanwhile/logs/segment"
)

// BenchmarkOwn sends records by the protocol of package logs to the server in a process of its own, which keeps them in segments,
// and measures the time until all are acknowledged: then they are on disk. The records in the store are counted afterwards.
func BenchmarkOwn(b *testing.B) {
	n := size(4_000_000, 5_000)
	for _, conns := range connections {
		b.Run("conns="+strconv.Itoa(conns)+"/lib=meanwhile", func(b *testing.B) {
			program, err := buildMeanwhile()
			if err != nil {
				b.Fatal(err)
			}
			var took, cpu time.Duration
			var peak, lost, wrong int64
			for b.Loop() {
				r := runOwn(b, program, load.Load{Format: load.Own, Connections: conns, Messages: n})
				took, cpu, peak = took+r.took, cpu+r.cpu, max(peak, r.peak)
				lost += int64(r.tally.Lost)
				wrong += int64(r.tally.Doubled + r.tally.Disordered + r.tally.Strange)
			}
			report(b, n, took, cpu, peak, lost, wrong)
		})
	}
}

// runOwn starts the server with a store, sends it a load, and counts the records in the store.
func runOwn(tb testing.TB, program string, l load.Load) (r result) {
	tb.Helper()
	s := startMeanwhile(tb, program, tb.TempDir())
	l.Address = s.own
	before := s.process.usage(tb)
	begun := time.Now()
	if err := l.Send(tb.Context()); err != nil {
		tb.Fatalf("%v: %s", err, s.process.said())
	}
	r.took = time.Since(begun)
	after := s.process.usage(tb)
	r.cpu, r.peak = after.cpu-before.cpu, after.peak
	s.process.stop(tb)
	store, err := segment.OpenReadOnly(s.store, segment.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	defer store.Close()
	if r.tally, err = l.CountRecords(store.Read(tb.Context(), "app", 1)); err != nil {
		tb.Fatal(err)
	}
	return r
}
