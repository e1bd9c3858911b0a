package jobs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkScripts reports how long the server runs a script, while jobs are enqueued a thousand at once and one by one, and run. The server does
// nothing else while it runs a script. INFO latencystats has the percentiles, SLOWLOG those that took more than 5 ms.
func BenchmarkScripts(b *testing.B) {
	n := size(50_000, 500)
	each(b, func(b *testing.B, p peer) {
		if p.store != "redis" {
			b.Skip("scripts are those of Redis")
		}
		var all scripts
		for b.Loop() {
			q, where := p.fresh(b, 1000)
			askRedis(b, where, "CONFIG", "SET", "latency-tracking-info-percentiles", "50 99 100")
			if err := q.bulk(b.Context(), n, here); err != nil {
				b.Fatal(err)
			}
			enqueueFor(b, q, 16, time.Duration(size(1000, 20))*time.Millisecond)
			if _, err := run(b.Context(), q, n, nothing); err != nil {
				b.Fatal(err)
			}
			all.add(readScripts(b, where))
		}
		b.ReportMetric(all.p50/1000, "p50-ms")
		b.ReportMetric(all.p99/1000, "p99-ms")
		b.ReportMetric(all.most/1000, "most-ms")
		b.ReportMetric(float64(all.slow), "above-5-ms")
		b.ReportMetric(float64(all.calls), "scripts")
		b.ReportMetric(0, "ns/op")
	})
}

// scripts has how long scripts ran, in microseconds; for several servers the slowest of each.
type scripts struct {
	p50, p99, most float64
	calls, slow    int
}

func (s *scripts) add(other scripts) {
	s.p50, s.p99, s.most = max(s.p50, other.p50), max(s.p99, other.p99), max(s.most, other.most)
	s.calls, s.slow = s.calls+other.calls, s.slow+other.slow
}

var (
	scriptTimes = regexp.MustCompile(`latency_percentiles_usec_evalsha:p50=([0-9.]+),p99=([0-9.]+),p100=([0-9.]+)`)
	scriptCalls = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`)
)

// readScripts reads a server's statistics of its scripts.
func readScripts(tb testing.TB, where string) (s scripts) {
	tb.Helper()
	times := scriptTimes.FindStringSubmatch(askRedis(tb, where, "INFO", "latencystats"))
	calls := scriptCalls.FindStringSubmatch(askRedis(tb, where, "INFO", "commandstats"))
	if times == nil || calls == nil {
		tb.Fatal("the server has no statistics of its scripts: use Redis 7 or newer")
	}
	_, err := fmt.Sscan(strings.Join(slices.Concat(times[1:], calls[1:]), " "), &s.p50, &s.p99, &s.most, &s.calls)
	slow, slowErr := strconv.Atoi(askRedis(tb, where, "SLOWLOG", "LEN"))
	if err := errors.Join(err, slowErr); err != nil {
		tb.Fatal(err)
	}
	s.slow = slow
	return s
}

// askRedis sends a command on a connection of its own, and returns the answer: a line, or a text.
func askRedis(tb testing.TB, where string, words ...string) string {
	tb.Helper()
	answer, err := func() (string, error) {
		at, err := url.Parse(where)
		if err != nil {
			return "", err
		}
		conn, err := net.DialTimeout("tcp", at.Host, time.Second)
		if err != nil {
			return "", err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return "", err
		}
		command := fmt.Sprintf("*%d\r\n", len(words))
		for _, w := range words {
			command += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
		}
		if _, err := conn.Write([]byte(command)); err != nil {
			return "", err
		}
		return readAnswer(bufio.NewReader(conn))
	}()
	if err != nil {
		tb.Fatalf("%v: %v", words, err)
	}
	return answer
}

func readAnswer(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	kind, rest := line[0], strings.TrimSpace(line[1:])
	switch kind {
	case '-':
		return "", errors.New(rest)
	case '$':
		n, err := strconv.Atoi(rest)
		if err != nil {
			return "", err
		}
		text := make([]byte, n)
		_, err = io.ReadFull(r, text)
		return string(text), err
	}
	return rest, nil
}
