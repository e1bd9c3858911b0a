package redis_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/redis"
)

// TestLongInsertIsWhole has a program crash in the middle of a long insert: before it has started, no job is visible; then all are, to every
// reader.
func TestLongInsertIsWhole(t *testing.T) {
	server := ownServer(t)
	s := open(t, "redis://"+server.address())
	if err := s.BeginLong(t.Context(), false, newJobs(t, 250, "k")...); err != nil {
		t.Fatal(err)
	}
	if counts, err := s.Counts(t.Context()); err != nil || len(counts) > 0 {
		t.Errorf("jobs that were sent but not started are counted: %+v, %v", counts, err)
	}
	if left := server.do(t, "PTTL", "{meanwhile}:stage:sent"); strings.HasPrefix(left, ":-") {
		t.Errorf("the sent parts never expire: PTTL is %q", left)
	}
	for name, see := range map[string]func(s *redis.Store) (int, error){
		"counts": func(s *redis.Store) (int, error) {
			counts, err := s.Counts(t.Context())
			if len(counts) == 0 {
				return 0, err
			}
			return int(counts[0].N), err
		},
		"list": func(s *redis.Store) (int, error) {
			jobs, err := s.List(t.Context(), job.Filter{Limit: 1000})
			return len(jobs), err
		},
		"claim": func(s *redis.Store) (int, error) { return len(claimed(t, s, 1, 1000, nil, job.DefaultQueue)), nil },
		"insert": func(s *redis.Store) (int, error) {
			insert(t, s, newJobs(t, 280, "k", job.Queue("other"))...)
			counts, err := s.Counts(t.Context())
			if len(counts) != 2 {
				return 0, fmt.Errorf("counts are %+v", counts)
			}
			return int(counts[0].N+counts[1].N) - 280, err
		},
	} {
		url := "redis://" + server.address() + "?name=" + name
		if err := open(t, url).BeginLong(t.Context(), true, newJobs(t, 250, "k")...); err != nil {
			t.Fatal(err)
		}
		if n, err := see(open(t, url)); err != nil || n != 250 {
			t.Errorf("%s: sees %d of a long insert of 250: %v", name, n, err)
		}
	}
}

// TestLongCallsAtOnce has several callers insert many jobs at once: each gets its own answer.
func TestLongCallsAtOnce(t *testing.T) {
	s := open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	holder := newJob(t, "k", job.Unique("held"))
	insert(t, s, holder)
	failed := make(chan error, 6)
	for n := range cap(failed) {
		jobs := append(newJobs(t, 270+n, "k"), newJob(t, "k", job.Unique("held")))
		go func() {
			ids, err := s.Insert(t.Context(), jobs...)
			for i := range ids {
				if want := jobs[i].ID; ids[i] != want && (jobs[i].UniqueKey == "" || ids[i] != holder.ID) {
					err = fmt.Errorf("job %d is stored as %v, want %v", i, ids[i], want)
				}
			}
			if err == nil && ids[len(ids)-1] != holder.ID {
				err = fmt.Errorf("a duplicate is stored")
			}
			failed <- err
		}()
	}
	for range cap(failed) {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// TestLongSettle settles many jobs, some of which are lost, with jobs that follow.
func TestLongSettle(t *testing.T) {
	s := open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	there := newJob(t, "there", job.Queue("there"))
	insert(t, s, there)
	insert(t, s, append(newJobs(t, 249, "k"), newJob(t, "k", job.Unique("u")))...)
	held := claimed(t, s, 1, 250, nil, job.DefaultQueue)
	var outcomes []job.Outcome
	for _, j := range held {
		j.State = job.Completed
		outcomes = append(outcomes, job.Outcome{Job: j})
	}
	outcomes[3].Job.Attempt, outcomes[200].Job.Attempt = 9, 9
	outcomes[3].Then = []*job.Job{there}       // follows a lost job: it is not inserted
	outcomes[120].Then = newJobs(t, 2, "then") // in order, and after all outcomes
	outcomes[121].Then = []*job.Job{newJob(t, "then", job.Unique("u"))}
	outcomes[200].Then = newJobs(t, 1, "lost")

	failing := slices.Clone(outcomes)
	failing[249].Then = []*job.Job{there}
	if lost, err := s.Settle(t.Context(), 1, failing...); err == nil || !strings.Contains(err.Error(), there.ID.String()+" is there already") {
		t.Errorf("with a job that exists already, settle lost %v: %v", lost, err)
	}
	counts, err := s.Counts(t.Context())
	if err != nil || len(counts) != 2 || counts[0].N+counts[1].N != 251 {
		t.Errorf("the failed call has written something: %+v, %v", counts, err)
	}

	lost, err := s.Settle(t.Context(), 1, outcomes...)
	if err != nil || !slices.Equal(lost, []job.ID{held[3].ID, held[200].ID}) {
		t.Errorf("lost %v, %v; want %v and %v", lost, err, held[3].ID, held[200].ID)
	}
	number := map[string]int64{}
	if counts, err = s.Counts(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		number[c.Kind+" "+string(c.State)] += c.N
	}
	for what, want := range map[string]int64{"k completed": 248, "k running": 2, "then queued": 3, "there queued": 1, "lost queued": 0} {
		if number[what] != want {
			t.Errorf("%s: %d, want %d", what, number[what], want)
		}
	}
	if got := claimed(t, s, 2, 10, func(c *job.Claim) { c.Lease = time.Hour }, job.DefaultQueue); len(got) != 3 || got[0].ID != outcomes[120].Then[0].ID {
		t.Errorf("claimed %v, want the jobs that follow, in order", got)
	}
}

// TestLongSettleOfAJobTwice has one job twice in a long call: the first outcome counts, and the call ends for all callers that
// wait for it.
func TestLongSettleOfAJobTwice(t *testing.T) {
	s := open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	insert(t, s, newJobs(t, 300, "k")...)
	var outcomes []job.Outcome
	for _, j := range claimed(t, s, 1, 300, nil, job.DefaultQueue) {
		j.State = job.Completed
		outcomes = append(outcomes, job.Outcome{Job: j})
	}
	other := *outcomes[7].Job
	other.State = job.Discarded
	if lost, err := s.Settle(t.Context(), 1, append(outcomes, job.Outcome{Job: &other})...); err != nil || len(lost) > 0 {
		t.Fatalf("lost %v, %v", lost, err)
	}
	counts, err := s.Counts(t.Context())
	if err != nil || len(counts) != 1 || counts[0].State != job.Completed || counts[0].N != 300 {
		t.Errorf("counts are %+v, %v; want 300 that are completed", counts, err)
	}
}

// TestLongSettleIsLinear: parts of a long call read only the results that they need, and the list of its parts is freed in the background.
func TestLongSettleIsLinear(t *testing.T) {
	const n = 3000
	server := ownServer(t)
	s := open(t, "redis://"+server.address())
	insert(t, s, newJobs(t, n, "k")...)
	var outcomes []job.Outcome
	for _, j := range claimed(t, s, 1, n, nil, job.DefaultQueue) {
		j.State = job.Completed
		outcomes = append(outcomes, job.Outcome{Job: j, Then: newJobs(t, 1, "follows", job.Queue("other"))})
	}
	outcomes[n/2].Job = newJob(t, "lost")
	outcomes[n/2].Job.State = job.Completed
	commands := monitor(t, server)
	lost, err := s.Settle(t.Context(), 1, outcomes...)
	if err != nil || len(lost) != 1 || lost[0] != outcomes[n/2].Job.ID {
		t.Errorf("settled %d, lost %v: %v", len(outcomes), lost, err)
	}
	read, unlinked := 0, false
	for _, words := range commands() {
		switch {
		case words[0] == "LRANGE" && strings.HasPrefix(words[1], "{meanwhile}:answer:") && words[3] != "-1":
			from, to := 0, 0
			if _, err := fmt.Sscan(words[2]+" "+words[3], &from, &to); err != nil {
				t.Fatal(err)
			}
			read += to - from + 1
		case words[0] == "UNLINK" && len(words) == 3 && strings.HasPrefix(words[2], "{meanwhile}:stage:"):
			unlinked = true
		}
	}
	if read > 3*2*n || !unlinked { // three of the four phases read results
		t.Errorf("the scripts read %d results of %d outcomes; the list of parts is unlinked: %v", read, n, unlinked)
	}
	counts, err := s.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		if c.Kind == "follows" && c.N != n-1 || c.Kind == "k" && c.State == job.Completed && c.N != n-1 {
			t.Errorf("counts are %+v", counts)
		}
	}
}

// monitor returns a function that returns the commands that a server has run since, also those of scripts.
func monitor(t *testing.T, s *server) (commands func() [][]string) {
	t.Helper()
	conn, err := net.Dial("tcp", s.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	lines := bufio.NewReader(conn)
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	if answer, err := lines.ReadString('\n'); err != nil || answer != "+OK\r\n" {
		t.Fatal(answer, err)
	}
	seen := make(chan [][]string, 1)
	go func() {
		var all [][]string
		for {
			line, err := lines.ReadString('\n')
			_, line, _ = strings.Cut(strings.TrimSpace(line), "] ")
			if words := strings.Split(strings.Trim(line, `"`), `" "`); words[0] != "ECHO" && err == nil {
				all = append(all, words)
				continue
			}
			seen <- all
			return
		}
	}()
	return func() [][]string {
		s.do(t, "ECHO", "end")
		return <-seen
	}
}
