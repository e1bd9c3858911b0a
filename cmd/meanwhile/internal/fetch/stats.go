package fetch

import (
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const longestTime = 24 * time.Hour // longest time that the histogram distinguishes

// stats are the statistics of a command: a bounded number of bytes for any number of transfers.
type stats struct {
	begun time.Time

	mu      sync.Mutex
	done    int
	failed  int
	notURLs int
	bytes   int64
	sum     time.Duration // of all transfers, as if they ran one after the other
	longest time.Duration
	came    map[outcome]int
	times   *hdrhistogram.Histogram // of successful transfers, in microseconds, with three exact digits
}

func newStats() *stats {
	return &stats{begun: time.Now(), came: make(map[outcome]int), times: hdrhistogram.New(1, longestTime.Microseconds(), 3)}
}

// add adds a transfer that has ended.
func (s *stats) add(t *transfer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += t.bytes
	s.sum += t.elapsed
	s.longest = max(s.longest, t.elapsed)
	s.came[outcomeOf(t)]++
	if t.err != nil {
		s.failed++
		return
	}
	s.done++
	_ = s.times.RecordValue(min(t.elapsed, longestTime).Microseconds())
}

// outcomes counts the outcomes of the transfers.
func (s *stats) outcomes() []outcomeCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	return listOutcomes(s.came)
}

func (s *stats) addNotURL() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notURLs++
}

// figures are the statistics at one moment.
type figures struct {
	done, failed, notURLs           int
	bytes                           int64
	sum, longest, elapsed           time.Duration
	p50, p90, p99, slowest, fastest time.Duration // of successful transfers
}

func (s *stats) figures() figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := func(percentile float64) time.Duration {
		return time.Duration(s.times.ValueAtPercentile(percentile)) * time.Microsecond
	}
	return figures{
		done: s.done, failed: s.failed, notURLs: s.notURLs, bytes: s.bytes,
		sum: s.sum, longest: s.longest, elapsed: time.Since(s.begun),
		p50: at(50), p90: at(90), p99: at(99), slowest: at(100),
		fastest: time.Duration(s.times.Min()) * time.Microsecond,
	}
}

// ended returns the number of URLs and lines that need no more work.
func (f figures) ended() int { return f.done + f.failed + f.notURLs }

// A span is a range of times, including its end, and the number of transfers in it.
type span struct {
	end   time.Duration
	count int
}

// scales are the ends of spans within each power of ten, the finest scale first.
var scales = [][]time.Duration{{10, 12, 14, 17, 20, 24, 28, 33, 40, 48, 56, 67, 80}, {10, 15, 20, 30, 50, 70}, {10, 20, 50}, {10}}

const maxSpans = 12

// spans divides the times into at most 12 ranges with round ends, from the fastest to the slowest.
func (s *stats) spans() []span {
	s.mu.Lock()
	defer s.mu.Unlock()
	bars := slices.DeleteFunc(s.times.Distribution(), func(b hdrhistogram.Bar) bool { return b.Count == 0 })
	var spans []span
	for _, scale := range scales {
		if spans = sortInto(scale, bars); len(spans) <= maxSpans {
			break
		}
	}
	return spans
}

func sortInto(scale []time.Duration, bars []hdrhistogram.Bar) []span {
	var spans []span
	step, power := 0, time.Microsecond
	end := scale[0] * power
	for _, bar := range bars {
		for time.Duration(bar.From)*time.Microsecond > end {
			if step++; step == len(scale) {
				step, power = 0, power*10
			}
			end = scale[step] * power
			if len(spans) > 0 {
				spans = append(spans, span{end: end})
			}
		}
		if len(spans) == 0 {
			spans = append(spans, span{end: end})
		}
		spans[len(spans)-1].count += int(bar.Count)
	}
	return spans
}
