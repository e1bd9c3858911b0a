package redis_test

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestReplacedInOneInsert replaces a job by one of the same insert.
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

// TestInsertsShareScripts has many insert one job each at once, some of which are there already: only these fail, and the others share scripts.
func TestInsertsShareScripts(t *testing.T) {
	server := ownServer(t)
	s := open(t, "redis://"+server.address()+"?name="+rand.Text())
	there, holder := newJob(t, "k"), newJob(t, "k", job.Unique("u"))
	insert(t, s, there, holder)
	server.tell(t, "CONFIG", "RESETSTAT")
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
	calls := regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`).FindStringSubmatch(server.tell(t, "INFO", "commandstats"))
	if n, _ := strconv.Atoi(calls[1]); n > callers*each*3/4 {
		t.Errorf("%d inserts took %d scripts", callers*each, n)
	}
}
