//go:build unix

package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	faktory "github.com/contribsys/faktory_worker_go"
)

// servers are the servers that are measured. Bare shows the cost of the connections and clients alone. MEANWHILE_BENCH_STORE is the
// URL of an empty PostgreSQL database for our server; without it, our server uses SQLite.
var servers = map[string]func(testing.TB) string{"bare": bare, "original": original, "ours": ours}

const connections = 16

// together calls do n times in all, over 16 connections.
func together(b *testing.B, address string, n int, do func(p *peer, i int)) {
	b.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
	for c := range connections {
		p := dial(b, address, fmt.Sprintf(`,"wid":"worker-%d","hostname":"h","pid":1,"labels":[]`, c))
		group.Go(func() {
			for {
				i := int(next.Add(1))
				if i > n {
					return
				}
				do(p, i)
			}
		})
	}
	group.Wait()
}

func perSecond(b *testing.B, n int, begun time.Time) {
	b.ReportMetric(float64(n)/time.Since(begun).Seconds(), "jobs/s")
	b.ReportMetric(0, "ns/op")
}

func each(b *testing.B, measure func(b *testing.B, address string)) {
	if os.Getenv("MEANWHILE_BENCH") == "" {
		b.Skip("MEANWHILE_BENCH is not set")
	}
	for _, name := range []string{"bare", "original", "ours"} {
		b.Run(name, func(b *testing.B) { measure(b, servers[name](b)) })
	}
}

// BenchmarkPush pushes single jobs from 16 connections.
func BenchmarkPush(b *testing.B) {
	each(b, func(b *testing.B, address string) {
		const n = 10_000
		begun := time.Now()
		together(b, address, n, func(p *peer, i int) {
			p.ask(fmt.Sprintf(`PUSH {"jid":"job-%08d","jobtype":"a","args":[%d]}`, i, i))
		})
		perSecond(b, n, begun)
	})
}

func bulkOf(from, n int) string {
	jobs := make([]string, n)
	for i := range jobs {
		jobs[i] = fmt.Sprintf(`{"jid":"job-%08d","jobtype":"a","args":[%d]}`, from+i, i)
	}
	return "PUSHB [" + strings.Join(jobs, ",") + "]"
}

// BenchmarkBulkAndDrain pushes 50,000 jobs in batches of a thousand, and fetches and acknowledges them over 16 connections.
func BenchmarkBulkAndDrain(b *testing.B) {
	each(b, func(b *testing.B, address string) {
		const n = 50_000
		p := dial(b, address, "")
		begun := time.Now()
		for i := 0; i < n; i += 1000 {
			if got := p.ask(bulkOf(i, 1000)); got != "{}" {
				b.Fatal(got)
			}
		}
		b.ReportMetric(n/time.Since(begun).Seconds(), "pushed/s")
		begun = time.Now()
		together(b, address, n, func(p *peer, _ int) {
			jid := fieldsOf(b, p.ask("FETCH default"), []string{"jid"})
			if got := p.ask(`ACK {"jid":"` + jid + `"}`); got != "+OK" {
				b.Error(got)
			}
		})
		perSecond(b, n, begun)
	})
}

// BenchmarkLatency measures the time from the push of a job to its arrival at a client that waits.
func BenchmarkLatency(b *testing.B) {
	each(b, func(b *testing.B, address string) {
		producer, consumer := dial(b, address, ""), dial(b, address, worker)
		var took []time.Duration
		for i := range 500 {
			waiting := make(chan time.Time)
			go func() {
				for {
					if got := consumer.ask("FETCH default"); got != "nil" {
						if !strings.Contains(got, fmt.Sprintf("job-%08d", i)) {
							b.Errorf("fetched %s", got)
						}
						break
					}
				}
				waiting <- time.Now()
			}()
			time.Sleep(5 * time.Millisecond)
			begun := time.Now()
			jid := fmt.Sprintf("job-%08d", i)
			producer.ask(`PUSH {"jid":"` + jid + `","jobtype":"a","args":[]}`)
			took = append(took, (<-waiting).Sub(begun))
			consumer.ask(`ACK {"jid":"` + jid + `"}`)
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkWorkers makes the Go client run 50,000 jobs that do nothing, with 100 and with 1,000 concurrent jobs, each with its own connection.
func BenchmarkWorkers(b *testing.B) {
	for _, atOnce := range []int{100, 1000} {
		b.Run(fmt.Sprintf("at-once=%d", atOnce), func(b *testing.B) {
			each(b, func(b *testing.B, address string) {
				const n = 50_000
				at := url.URL{Scheme: "tcp", User: url.UserPassword("", password), Host: address}
				b.Setenv("FAKTORY_URL", at.String())
				p := dial(b, address, "")
				for i := 0; i < n; i += 1000 {
					if got := p.ask(bulkOf(i, 1000)); got != "{}" {
						b.Fatal(got)
					}
				}
				ctx, stop := context.WithCancel(b.Context())
				defer stop()
				var done atomic.Int64
				m := faktory.NewManager()
				m.Concurrency, m.Logger = atOnce, silent{}
				m.ProcessStrictPriorityQueues("default")
				m.Register("a", func(context.Context, ...any) error {
					done.Add(1)
					return nil
				})
				begun := time.Now()
				ended := make(chan error, 1)
				go func() { ended <- m.RunWithContext(ctx) }()
				for done.Load() < n {
					select {
					case err := <-ended:
						b.Fatalf("the client ended: %v", err)
					case <-time.After(5 * time.Millisecond):
					}
					if time.Since(begun) > time.Minute {
						b.Fatalf("%d of %d jobs ran in a minute", done.Load(), n)
					}
				}
				perSecond(b, n, begun)
				stop()
				if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
					b.Error(err)
				}
			})
		})
	}
}

// silent is a logger for the Go client that logs nothing.
type silent struct{}

func (silent) Debug(...any)          {}
func (silent) Debugf(string, ...any) {}
func (silent) Info(...any)           {}
func (silent) Infof(string, ...any)  {}
func (silent) Warn(...any)           {}
func (silent) Warnf(string, ...any)  {}
func (silent) Error(...any)          {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatal(...any)          {}
func (silent) Fatalf(string, ...any) {}
