package job_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// A mending store reports once that it has repaired lanes.
type mending struct {
	job.Store
	repaired []job.LaneRepair
}

func (s *mending) Prune(ctx context.Context, retention map[job.State]time.Duration, limit int) (job.Pruned, error) {
	pruned, err := s.Store.Prune(ctx, retention, limit)
	pruned.Repaired, s.repaired = s.repaired, nil
	return pruned, err
}

// TestRepairsAreReported: a worker logs the limit keys that its store has repaired, up to a hundred, and reports all to its observer.
func TestRepairsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		r := newIdleRig(t)
		s := &mending{Store: r.store}
		for i := range 103 {
			s.repaired = append(s.repaired, job.LaneRepair{Queue: "models", Key: fmt.Sprint("tenant-", i), Wrong: "it had no entry"})
		}
		r.startWorker(s, job.Config{Logger: slog.New(slog.NewTextHandler(&text, nil))})
		seconds(120)
		r.end()
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		want := `level=WARN msg="job: a limit key did not match its jobs and was repaired" queue=models key=tenant-7 wrong="it had no entry"`
		if len(lines) != 101 || !strings.Contains(text.String(), want) || !strings.Contains(lines[100], "lanes=3") {
			t.Errorf("%d lines, want 101, the last of 3 lanes, and %s in:\n%s", len(lines), want, text.String())
		}
		if n := len(slices.DeleteFunc(slices.Clone(r.events), func(e string) bool { return !strings.Contains(e, "lane repaired") })); n != 103 {
			t.Errorf("%d repairs were observed, want 103", n)
		}
	})
}

// TestJoinedRepairs: the repairs of all parts are returned.
func TestJoinedRepairs(t *testing.T) {
	parts := []job.Store{
		&mending{Store: memory.New(), repaired: []job.LaneRepair{{Queue: "a"}}},
		&mending{Store: memory.New(), repaired: []job.LaneRepair{{Queue: "b"}}},
	}
	got, err := job.Join(parts...).Prune(t.Context(), nil, 10)
	slices.SortFunc(got.Repaired, func(a, b job.LaneRepair) int { return strings.Compare(a.Queue, b.Queue) })
	if want := []job.LaneRepair{{Queue: "a"}, {Queue: "b"}}; err != nil || !slices.Equal(got.Repaired, want) {
		t.Errorf("repaired %+v, %v; want %+v", got.Repaired, err, want)
	}
}

func TestLaneHintWrong(t *testing.T) {
	at := time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		kept, want job.LaneHint
		wrong      bool
	}{
		{job.LaneHint{None: true}, job.LaneHint{None: true}, false},
		{job.LaneHint{None: true}, job.LaneHint{}, true},
		{job.LaneHint{}, job.LaneHint{None: true}, true},
		{job.LaneHint{Priority: 5}, job.LaneHint{Priority: 5}, false},
		{job.LaneHint{}, job.LaneHint{Priority: 5}, true},
		{job.LaneHint{Priority: 5}, job.LaneHint{}, true},
		{job.LaneHint{Wake: at}, job.LaneHint{}, false},
		{job.LaneHint{Wake: at}, job.LaneHint{Wake: at}, false},
		{job.LaneHint{Wake: at}, job.LaneHint{Wake: at.Add(time.Second)}, false},
		{job.LaneHint{Wake: at.Add(time.Second)}, job.LaneHint{Wake: at}, true},
		{job.LaneHint{}, job.LaneHint{Wake: at}, true},
	} {
		if got := c.kept.Wrong(c.want); (got != "") != c.wrong {
			t.Errorf("kept %+v, want %+v: %q", c.kept, c.want, got)
		}
	}
}
