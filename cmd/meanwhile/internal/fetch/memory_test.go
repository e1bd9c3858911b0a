package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// endlessLines is a generated input that needs no memory: every fifth line is a URL, each with another host.
type endlessLines struct {
	line, most int
	rest       []byte
}

func (e *endlessLines) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		if e.line == e.most {
			return 0, io.EOF
		}
		e.line++
		if e.line%5 == 0 {
			e.rest = fmt.Appendf(e.rest[:0], "http://host%d.example/some/path/of/a/page?id=%d\n", e.line, e.line)
		} else {
			e.rest = fmt.Appendf(e.rest[:0], "no URL on line %d\n", e.line)
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// TestMemoryStaysBounded reads a million lines while it measures the memory in use.
func TestMemoryStaysBounded(t *testing.T) {
	const bound = 16 << 20
	if raceEnabled {
		t.Skip("the race detector needs additional memory")
	}
	testenv.LongTest(t)
	web := func(r *http.Request) (*http.Response, error) { return answer(r, 200), nil }
	tests := []struct {
		lines int
		args  []string
	}{
		{1_000_000, []string{"--json"}},
		{50_000, []string{"--per-host=2", "--per-host-rate=1000000/s", "--retry=2"}},
	}
	for _, test := range tests {
		args, in := test.args, &endlessLines{most: test.lines}
		r := newRun(t, in, io.Discard, io.Discard, web, args...)
		var before, now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var peak uint64
		err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
			meanwhile.Every(ctx, 50*time.Millisecond, func(context.Context) error {
				runtime.GC()
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapAlloc)
				return nil
			})
			_ = r.do(undisturbed)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		f := r.stats.figures()
		if f.done != in.most/5 || f.notURLs != in.most/5*4 {
			t.Errorf("%v: %d done, %d no URLs, %d failed", args, f.done, f.notURLs, f.failed)
		}
		t.Logf("%v: %d lines in %v, heap %d kB before, at most %d kB", args, in.most, f.elapsed, before.HeapAlloc>>10, peak>>10)
		if peak > before.HeapAlloc+bound {
			t.Errorf("%v: heap of %d bytes, want at most %d", args, peak, before.HeapAlloc+bound)
		}
	}
}
