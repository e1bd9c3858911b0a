package redis_test

import (
	"crypto/rand"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/redis"
)

// TestReplacedInOneInsert replaces a job by another one of the same insert.
func TestReplacedInOneInsert(t *testing.T) {
	s := open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	first, second := newJob(t, "k", job.Unique("u"), job.MaxAttempts(7), job.Meta(job.MetaID, "m")), newJob(t, "k", job.Unique("u"), job.Replace(), job.In(time.Hour))
	second.Args = []byte(letters(3000))
	ids, err := s.Insert(t.Context(), first, second)
	if err != nil || ids[0] != first.ID || ids[1] != first.ID {
		t.Fatalf("stored as %v, %v", ids, err)
	}
	jobs, err := s.List(t.Context(), job.Filter{Limit: 10})
	if err != nil || len(jobs) != 1 {
		t.Fatalf("there are %d jobs, %v", len(jobs), err)
	}
	if j := jobs[0]; j.ID != first.ID || j.MaxAttempts != 7 || string(j.Args) != string(second.Args) || j.Meta[job.MetaID] != "m" || j.RunAt.Sub(j.Created) < time.Hour {
		t.Errorf("it is %+v", j)
	}
}

// TestInsertAsGiven inserts jobs of several kinds, queues, priorities and options by one script: they are claimed unchanged, by priority and
// then by ID.
func TestInsertAsGiven(t *testing.T) {
	s := open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	if err := s.SetLimits(t.Context(), "limited", job.Limits{Running: 1000}); err != nil {
		t.Fatal(err)
	}
	var jobs []*job.Job
	for i := range 60 {
		opts := []job.EnqueueOption{job.Queue([]string{"a", "limited"}[i%2]), job.Priority(4 + i%3)}
		if i%5 == 0 {
			opts = append(opts, job.Meta("m", strconv.Itoa(i%10)), job.MaxAttempts(i%4+1))
		}
		if i%7 == 0 {
			opts = append(opts, job.Cost(3))
		}
		j := newJob(t, []string{"k", "other"}[i/2%2], opts...)
		j.Args = []byte(`"` + strings.Repeat("x", i*8) + `"`)
		jobs = append(jobs, j)
	}
	reversed := slices.Clone(jobs)
	slices.Reverse(reversed)
	insert(t, s, reversed...)
	for _, queue := range []string{"a", "limited"} {
		want := slices.DeleteFunc(slices.Clone(jobs), func(j *job.Job) bool { return j.Queue != queue })
		slices.SortStableFunc(want, func(a, b *job.Job) int { return b.Priority - a.Priority })
		got := claimed(t, s, 1, 100, nil, queue)
		if len(got) != len(want) {
			t.Fatalf("queue %s: claimed %d of %d", queue, len(got), len(want))
		}
		for i, w := range want {
			g := got[i]
			if g.ID != w.ID || g.Kind != w.Kind || g.Queue != w.Queue || g.Priority != w.Priority || g.MaxAttempts != w.MaxAttempts || g.Cost != w.Cost ||
				!maps.Equal(g.Meta, w.Meta) || string(g.Args) != string(w.Args) || g.Created.IsZero() || !g.RunAt.Equal(g.Created) {
				t.Errorf("queue %s: claimed %+v, want %+v", queue, g, w)
			}
		}
	}
}

// TestInsertsShareScripts has many callers insert one job each at the same time, some of which exist already: only these fail, and the others
// share scripts.
func TestInsertsShareScripts(t *testing.T) {
	server := ownServer(t)
	s := open(t, "redis://"+server.address()+"?name="+rand.Text())
	there, holder := newJob(t, "k"), newJob(t, "k", job.Unique("u"))
	insert(t, s, there, holder)
	server.do(t, "CONFIG", "RESETSTAT")
	const callers, each = 32, 50
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				j, want := newJob(t, "k"), ""
				wanted := j.ID
				switch i % 25 {
				case 7:
					j, want = there, there.ID.String()+" is there already"
				case 9:
					j = newJob(t, "k", job.Unique("u"))
					wanted = holder.ID
				}
				ids, err := s.Insert(t.Context(), j)
				if want == "" && (err != nil || ids[0] != wanted) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
					errs[c] = fmt.Errorf("job %d: stored as %v, %v; want %v, %q", i, ids, err, wanted, want)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	counts, err := s.Counts(t.Context())
	if want := int64(callers*(each-4) + 2); err != nil || len(counts) != 1 || counts[0].N != want {
		t.Errorf("counts are %+v, %v; want %d jobs", counts, err, want)
	}
	calls := regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`).FindStringSubmatch(server.do(t, "INFO", "commandstats"))
	if n, _ := strconv.Atoi(calls[1]); n > callers*each*3/4 {
		t.Errorf("%d inserts took %d scripts", callers*each, n)
	}
}

// TestCallersThatComeAgainShareOneScript: callers that insert one job after the other share each script but the first, rather than forming two
// groups that take turns.
func TestCallersThatComeAgainShareOneScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers, each = 16, 5
		var sizes []int
		insertOne := redis.GroupInserts(func(jobs int) {
			sizes = append(sizes, jobs)
			time.Sleep(300 * time.Microsecond)
		})
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range each {
					if err := insertOne(t.Context(), newJob(t, "k")); err != nil {
						t.Error(err)
					}
					time.Sleep(20 * time.Microsecond)
				}
			})
		}
		wg.Wait()
		first := sizes[0] // usually 1; more if the first caller was interrupted
		want := []int{first, callers, callers, callers, callers, callers - first}
		if first == callers {
			want = want[:each]
		}
		if !slices.Equal(sizes, want) {
			t.Errorf("the scripts had %v jobs, want %v", sizes, want)
		}
	})
}
