package logs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/bench/logs/load"
	"github.com/meanwhile-go/meanwhile/logs/remote"
	"github.com/meanwhile-go/meanwhile/logs/segment"
)

// storeMessages is how many messages benchmarkInStore sends for each that BenchmarkIn does: most of the journals that these fill
// are segments at the end, so that the CPU time includes the cost of creating segments.
const storeMessages = 4

// inStore is the name of the server with its default store in the tables.
const inStore = "meanwhile-store"

// benchmarkInStore is a row of BenchmarkIn: the server's default, its store. It measures the time until the last record is in the journal,
// on disk, where searches find it, and the CPU time until the closed journals are segments.
func benchmarkInStore(b *testing.B, l load.Load) {
	program := ours.program(b)
	l.Messages *= storeMessages
	var took, cpu time.Duration
	var peak, lost, wrong int64
	for b.Loop() {
		r := runInStore(b, program, l)
		took, cpu, peak = took+r.took, cpu+r.cpu, max(peak, r.peak)
		lost += int64(r.tally.Lost)
		wrong += int64(r.tally.Doubled + r.tally.Disordered + r.tally.Strange)
	}
	report(b, l.Messages, took, cpu, peak, lost, wrong)
}

func runInStore(tb testing.TB, program string, l load.Load) (r result) {
	tb.Helper()
	folder, port, web := tb.TempDir(), freePort(tb), at(freePort(tb))
	flag, store := "--syslog-tcp", filepath.Join(folder, "store")
	if l.Format == load.Analogger {
		flag = "--analogger"
	}
	cmd := exec.Command(program, "logs", "serve", "--listen=", "--http", web, "--analogger=", "--dir", store, flag, at(port))
	cmd.Dir = folder
	l.Address = at(port)
	p := start(tb, l.Address, cmd)
	client, err := remote.NewClient("http://"+web, remote.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	before := p.usage(tb)
	begun := time.Now()
	if err := l.Send(tb.Context()); err != nil {
		tb.Fatalf("%v: %s", err, p.said())
	}
	ended := stored(tb, client, l.Messages)
	turned(tb, store)
	after := p.usage(tb)
	r = result{took: ended.Sub(begun), cpu: after.cpu - before.cpu, peak: after.peak}
	p.stop(tb)
	kept, err := segment.OpenReadOnly(store, segment.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	defer kept.Close()
	if r.tally, err = l.CountRecords(kept.Read(tb.Context(), "app", 1)); err != nil {
		tb.Fatal(err)
	}
	defer os.RemoveAll(store) // it is large; a folder in use is removed only at the end
	return r
}

// stored waits until a store has n records, or gets no more, and returns when it got the last one.
func stored(tb testing.TB, client *remote.Client, n int) (last time.Time) {
	tb.Helper()
	var had int64
	for last = time.Now(); ; time.Sleep(5 * time.Millisecond) {
		services, err := client.Services(tb.Context())
		if err != nil {
			tb.Fatal(err)
		}
		var has int64
		for _, s := range services {
			has += s.Records
		}
		now := time.Now()
		if has > had {
			had, last = has, now
		}
		if has >= int64(n) || now.Sub(last) > idle {
			return last
		}
	}
}

// turned waits until a store has no journal except the one that it is writing.
func turned(tb testing.TB, store string) {
	tb.Helper()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		journals, err := filepath.Glob(filepath.Join(store, "journal", "*.journal"))
		if err != nil {
			tb.Fatal(err)
		}
		if len(journals) < 2 {
			return
		}
		if time.Since(begun) > startLimit {
			tb.Fatalf("%d journals are not made into segments", len(journals))
		}
	}
}

// TestInStore tests the store as TestServers tests the files.
func TestInStore(t *testing.T) {
	program := ours.program(t)
	for _, f := range load.Formats {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			r := runInStore(t, program, load.Load{Format: f, Connections: 8, Messages: 5000})
			if !r.tally.Complete() {
				t.Error(r.tally)
			}
		})
	}
}
