package jobtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var listPromises = []promise{
	{"list is by ID, newest first", func(f *fixture) {
		a, b, c := f.job(), f.job(), f.job()
		f.insert(c)
		f.insert(b, a)
		f.finish(f.take("w", 1)[0], job.Completed)
		f.sameIDs("listed", ids(f.list(job.Filter{})), []job.ID{c.ID, b.ID, a.ID})
	}},
	{"list goes on after a page", func(f *fixture) {
		jobs := make([]*job.Job, 23)
		for i := range jobs {
			jobs[i] = f.job()
		}
		f.insert(jobs...)
		for i, j := range f.take("w", 12) {
			if i%2 == 0 {
				f.finish(j, job.Discarded)
			}
		}
		got := ids(f.all(5))
		slices.Reverse(got)
		f.sameIDs("listed", got, ids(jobs))
	}},
	{"list by each field", func(f *fixture) {
		s := newScene(f)
		for _, test := range s.tests() {
			got := ids(f.list(test.filter))
			want := sorted(test.want)
			slices.Reverse(want)
			if !slices.Equal(got, want) {
				f.Errorf("list by %s: got %v, want %v", test.name, s.names(got), s.names(want))
			}
			for _, limit := range []int{1, 2} {
				test.filter.Limit = limit
				f.sameIDs("list by "+test.name+" with a limit", ids(f.list(test.filter)), want[:min(limit, len(want))])
			}
		}
	}},
	{"list by the ID of another system", func(f *fixture) {
		other := f.insertNew(job.Meta(job.MetaID, "other"), job.Meta("x", `{"jid":"twice"},"jid":"twice"`))
		odd := f.insertNew(job.Meta(job.MetaID, `odd "<jid>"`))
		quoted := f.insertNew(job.Meta(job.MetaID, "quoted"), job.Meta(`a"jid`, "x"), job.Meta(`b\`, `c\`))
		f.insertNew(job.Meta(job.MetaID, strings.Repeat("🜁", 1000)))
		done := f.insertNew(job.Meta(job.MetaID, "twice"), job.Meta("tenant", "7"))
		for _, j := range f.take("w", 5) {
			if j.ID == done.ID {
				f.finish(j, job.Completed)
			}
		}
		waits := f.insertNew(job.Meta(job.MetaID, "twice"))
		for _, test := range []struct {
			filter job.Filter
			want   []job.ID
		}{
			{job.Filter{Meta: map[string]string{job.MetaID: "twice"}}, []job.ID{waits.ID, done.ID}},
			{job.Filter{Meta: map[string]string{job.MetaID: "twice", "tenant": "7"}}, []job.ID{done.ID}},
			{job.Filter{Meta: map[string]string{job.MetaID: "twice"}, Limit: 1}, []job.ID{waits.ID}},
			{job.Filter{Meta: map[string]string{job.MetaID: "twice"}, States: []job.State{job.Queued}}, []job.ID{waits.ID}},
			{job.Filter{Meta: map[string]string{job.MetaID: "twice"}, States: []job.State{job.Running}}, nil},
			{job.Filter{Meta: map[string]string{job.MetaID: "other"}, States: []job.State{job.Running}, Worker: "w"}, []job.ID{other.ID}},
			{job.Filter{Meta: map[string]string{job.MetaID: `odd "<jid>"`}}, []job.ID{odd.ID}},
			{job.Filter{Meta: map[string]string{job.MetaID: "quoted"}}, []job.ID{quoted.ID}},
			{job.Filter{Meta: map[string]string{job.MetaID: "x"}}, nil},
			{job.Filter{Meta: map[string]string{job.MetaID: "twic"}}, nil},
		} {
			f.sameIDs(fmt.Sprintf("listed by %v", test.filter.Meta), ids(f.list(test.filter)), test.want)
		}
		f.remove(waits.ID)
		f.sameIDs("listed when one is deleted", ids(f.list(job.Filter{Meta: map[string]string{job.MetaID: "twice"}})), []job.ID{done.ID})
	}},
	{"list leaves out none that matches args or error", func(f *fixture) {
		args := func(text string) *job.Job {
			j := f.job()
			j.Args = json.RawMessage(text)
			return j
		}
		a, b := args(`{"user":{"id":7,"name":"Zoë"},"urls":["http://x/"]}`), args(`{"user":{"id":8,"name":"it's"},"urls":["%_\\"]}`)
		f.insert(a, b)
		for _, test := range []struct {
			path, value string
			want        *job.Job
		}{
			{"user.id", "7", a},
			{"user.name", "Zoë", a},
			{"urls.0", "http://x/", a},
			{"user.id", "8", b},
			{"user.name", "it's", b},
			{"urls.0", `%_\`, b},
		} {
			got := ids(f.list(job.Filter{Args: []job.ArgsMatch{{Path: test.path, Value: test.value}}}))
			if !slices.Contains(got, test.want.ID) {
				f.Errorf("list by args %s=%s leaves out the job with %s", test.path, test.value, test.want.Args)
			}
		}
		for _, j := range f.take("w", 2) {
			j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, time.Hour
			j.Failures = []job.Failure{{Attempt: 1, Error: "first"}, {Attempt: 2, Error: `Connection "REFUSED" by Ärger 100%_\`}}
			if j.ID == b.ID {
				j.State = job.Discarded
			}
			f.settle("w", j)
		}
		for _, text := range []string{"first", "refused", `n "refused" b`, "Ärger", "ÄRGER", `100%_\`} {
			if got := f.list(job.Filter{Error: text}); len(got) != 2 {
				f.Errorf("list by error %q returned %d jobs, want 2", text, len(got))
			}
		}
	}},
	{"list of what there is not", func(f *fixture) {
		f.insertNew()
		for _, filter := range []job.Filter{
			{IDs: []job.ID{f.job().ID}},
			{Kinds: []string{"none"}},
			{Queues: []string{"none"}},
			{States: []job.State{job.Running}},
			{Worker: "none"},
			{UniqueKey: "k none"},
			{CreatedAfter: time.Now().AddDate(100, 0, 0)},
			{CreatedBefore: time.Now().Add(-time.Hour)},
			{FinishedBefore: f.now().Add(time.Hour)},
		} {
			if got := f.list(filter); len(got) != 0 {
				f.Errorf("list by %+v: %v", filter, ids(got))
			}
		}
	}},
}

// A listing is a store with jobs of every kind, queue, state, worker and age, for the tests of List.
type listing struct {
	*fixture
	byName map[string]job.ID
	now    time.Time
	late   time.Time // between the times at which the earlier and the later jobs finished
}

func newScene(f *fixture) *listing {
	s := &listing{fixture: f, byName: map[string]job.ID{}, now: time.Now()}
	add := func(name string, age time.Duration, kind string, opts ...job.EnqueueOption) {
		j := f.kind(kind, opts...)
		j.ID = agedID(j.ID, s.now.Add(-age))
		f.insert(j)
		s.byName[name] = j.ID
	}
	held := func(name, kind, worker string) *job.Job {
		add(name, 24*time.Hour, kind)
		return f.claimBy(job.Claim{Worker: worker, Session: sessionOf(worker), Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: long}).Jobs[0]
	}
	f.finish(held("completed", "a", "w1"), job.Completed)
	f.finish(held("canceled", "b", "w2"), job.Canceled)
	time.Sleep(4 * pause)
	last := held("discarded", "a", "w1")
	f.finish(last, job.Discarded)
	s.late = f.read(last.ID).Finished.Add(-pause)
	held("running", "a", "w2")
	j := held("retrying", "b", "w1")
	j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, time.Hour
	f.settle("w1", j)
	j = held("snoozed", "a", "w1")
	j.State, j.RunAt, j.Delay, j.Uncounted = job.Queued, time.Time{}, time.Hour, 1
	f.settle("w1", j)
	j = held("failed, due again", "b", "w2")
	j.State, j.RunAt, j.Queue = job.Queued, time.Time{}, "q"
	f.settle("w2", j)
	add("due", 72*time.Hour, "b", job.Queue("q"), job.Unique("u"))
	add("scheduled", 0, "c", job.Queue("q"), job.In(time.Hour), job.Unique("v"))
	return s
}

// agedID returns an ID with the time replaced.
func agedID(id job.ID, at time.Time) job.ID {
	ms := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}

type listTest struct {
	name   string
	filter job.Filter
	want   []job.ID
}

func (s *listing) tests() []listTest {
	pick := func(names ...string) []job.ID {
		var picked []job.ID
		for _, name := range names {
			id, ok := s.byName[name]
			if !ok {
				s.Fatalf("no job %q", name)
			}
			picked = append(picked, id)
		}
		return picked
	}
	states := func(states ...job.State) job.Filter { return job.Filter{States: states} }
	queued := []string{"retrying", "snoozed", "failed, due again", "due", "scheduled"}
	return []listTest{
		{"IDs", job.Filter{IDs: append(pick("running", "due", "completed", "due"), s.job().ID)}, pick("running", "due", "completed")},
		{"a kind", job.Filter{Kinds: []string{"a"}}, pick("completed", "discarded", "running", "snoozed")},
		{"kinds", job.Filter{Kinds: []string{"c", "b"}}, pick("canceled", "retrying", "failed, due again", "due", "scheduled")},
		{"a queue", job.Filter{Queues: []string{"q"}}, pick("failed, due again", "due", "scheduled")},
		{"queues", job.Filter{Queues: []string{"q", "none"}}, pick("failed, due again", "due", "scheduled")},
		{"queued", states(job.Queued), pick(queued...)},
		{"running", states(job.Running), pick("running")},
		{"completed", states(job.Completed), pick("completed")},
		{"canceled and discarded", states(job.Canceled, job.Discarded), pick("canceled", "discarded")},
		{"scheduled", states(job.Scheduled), pick("snoozed", "scheduled")},
		{"retrying", states(job.Retrying), pick("retrying", "failed, due again")},
		{"scheduled and retrying", states(job.Scheduled, job.Retrying), pick("retrying", "failed, due again", "snoozed", "scheduled")},
		{"scheduled, queued and completed", states(job.Scheduled, job.Queued, job.Completed), pick(append(queued, "completed")...)},
		{"retrying and running", states(job.Running, job.Retrying), pick("retrying", "failed, due again", "running")},
		{"worker", job.Filter{Worker: "w1"}, pick("completed", "discarded", "retrying", "snoozed")},
		{"unique key", job.Filter{UniqueKey: "b u"}, pick("due")},
		{"unique key, of these IDs", job.Filter{UniqueKey: "b u", IDs: pick("due", "scheduled")}, pick("due")},
		{"of no IDs", job.Filter{IDs: []job.ID{}}, nil},
		{"created after", job.Filter{CreatedAfter: s.now.Add(-12 * time.Hour)}, pick("scheduled")},
		{"created before", job.Filter{CreatedBefore: s.now.Add(-48 * time.Hour)}, pick("due")},
		{
			"created between",
			job.Filter{CreatedAfter: s.now.Add(-48 * time.Hour), CreatedBefore: s.now.Add(-12 * time.Hour), States: []job.State{job.Queued}},
			pick("retrying", "snoozed", "failed, due again"),
		},
		{"finished before", job.Filter{FinishedBefore: s.late}, pick("completed", "canceled")},
		{"finished before an hour from now", job.Filter{FinishedBefore: s.fixture.now().Add(time.Hour)}, pick("completed", "canceled", "discarded")},
		{"before", job.Filter{Before: agedID(job.ID{}, s.now.Add(-48*time.Hour))}, pick("due")},
		{"before, of these IDs", job.Filter{IDs: pick("due", "scheduled"), Before: s.byName["scheduled"]}, pick("due")},
		{
			"kind, queue, state and worker",
			job.Filter{Kinds: []string{"b"}, Queues: []string{"q"}, States: []job.State{job.Queued}, Worker: "w2"},
			pick("failed, due again"),
		},
	}
}

func (s *listing) names(ids []job.ID) string {
	var names []string
	for _, id := range ids {
		for name, known := range s.byName {
			if known == id {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}
