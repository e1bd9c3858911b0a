package logs

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/bench/logs/load"
)

var connections = []int{1, 8, 200}

// BenchmarkIn sends messages of 100 bytes over several connections to a server in a process of its own, and measures the time until
// the last byte is in the file. Lost messages are counted by reading the file. The server's store is measured as well, see
// benchmarkInStore.
func BenchmarkIn(b *testing.B) {
	n := size(1_000_000, 2_000)
	for _, f := range load.Formats {
		b.Run("in="+string(f), func(b *testing.B) {
			for _, conns := range connections {
				b.Run("conns="+strconv.Itoa(conns), func(b *testing.B) {
					b.Run("lib="+inStore, func(b *testing.B) { benchmarkInStore(b, load.Load{Format: f, Connections: conns, Messages: n}) })
					for _, s := range servers {
						if slices.Contains(s.formats, f) {
							b.Run("lib="+s.lib, func(b *testing.B) { s.measure(b, load.Load{Format: f, Connections: conns, Messages: n}) })
						}
					}
				})
			}
		})
	}
}

func (s server) measure(b *testing.B, l load.Load) {
	program := s.program(b)
	var took, cpu time.Duration
	var peak, lost, wrong int64
	for b.Loop() {
		r := s.run(b, program, l)
		took, cpu, peak = took+r.took, cpu+r.cpu, max(peak, r.peak)
		lost += int64(r.tally.Lost)
		wrong += int64(r.tally.Doubled + r.tally.Disordered + r.tally.Strange)
	}
	report(b, l.Messages, took, cpu, peak, lost, wrong)
}

func report(b *testing.B, n int, took, cpu time.Duration, peak, lost, wrong int64) {
	b.Helper()
	all := float64(b.N) * float64(n)
	b.ReportMetric(all/took.Seconds(), "messages/s")
	b.ReportMetric(float64(cpu.Microseconds())/all, "µs-cpu/message")
	b.ReportMetric(float64(lost), "lost")
	b.ReportMetric(float64(wrong), "wrong")
	b.ReportMetric(float64(peak)/(1<<20), "MB")
	b.ReportMetric(0, "ns/op")
}

// TestServers tests what the benchmark assumes of each server: every message is in the file once, complete, and in the order of
// its connection.
func TestServers(t *testing.T) {
	for _, s := range servers {
		for _, f := range s.formats {
			t.Run(s.lib+"/"+string(f), func(t *testing.T) {
				t.Parallel()
				r := s.run(t, s.program(t), load.Load{Format: f, Connections: 8, Messages: 5000})
				if !r.tally.Complete() {
					t.Error(r.tally)
				}
			})
		}
	}
}
