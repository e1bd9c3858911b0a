package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func TestNewSetsWhatOptionsSay(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	kind := job.Define[note]("note", job.Queue("mail"), job.MaxAttempts(3), job.Priority(2))
	tests := []struct {
		name string
		opts []job.EnqueueOption
		want job.Job
	}{
		{"defaults of the kind", nil, job.Job{Queue: "mail", MaxAttempts: 3, Priority: 2}},
		{"of the job", []job.EnqueueOption{job.Queue("q"), job.MaxAttempts(1), job.Priority(9)}, job.Job{Queue: "q", MaxAttempts: 1, Priority: 9}},
		{"In", []job.EnqueueOption{job.At(at), job.In(time.Minute)}, job.Job{Queue: "mail", MaxAttempts: 3, Priority: 2, Delay: time.Minute}},
		{"In, past", []job.EnqueueOption{job.In(-time.Minute)}, job.Job{Queue: "mail", MaxAttempts: 3, Priority: 2}},
		{"At", []job.EnqueueOption{job.In(time.Minute), job.At(at)}, job.Job{Queue: "mail", MaxAttempts: 3, Priority: 2, RunAt: at}},
		{"Unique", []job.EnqueueOption{job.Unique("k"), job.UniqueFor(time.Hour)}, job.Job{Queue: "mail", MaxAttempts: 3, Priority: 2, UniqueKey: "note k", UniqueFor: time.Hour}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := kind.New(note{"hello"}, test.opts...)
			if err != nil {
				t.Fatal(err)
			}
			test.want.ID, test.want.Kind, test.want.State, test.want.Args = got.ID, "note", job.Queued, json.RawMessage(`{"text":"hello"}`)
			if g, w := fmt.Sprintf("%+v", *got), fmt.Sprintf("%+v", test.want); g != w {
				t.Errorf("\ngot  %s\nwant %s", g, w)
			}
		})
	}
}

func TestUniqueArgs(t *testing.T) {
	key := func(args string, fields ...string) string {
		t.Helper()
		j, err := job.New("k", json.RawMessage(args), job.UniqueArgs(fields...))
		if err != nil {
			t.Fatal(err)
		}
		return j.UniqueKey
	}
	if a, b := key(`{"a":1,"b":2}`), key(`{ "b": 2, "a": 1 }`); a != b {
		t.Errorf("args that differ only in the order of fields have different keys: %s, %s", a, b)
	}
	if a, b := key(`{"a":1}`), key(`{"a":2}`); a == b {
		t.Errorf("different args have the same key %s", a)
	}
	if a, b := key(`{"a":12345678901234567890}`), key(`{"a":12345678901234567891}`); a == b {
		t.Errorf("large numbers have the same key %s", a)
	}
	if a, b := key(`{"a":1,"b":2}`, "a"), key(`{"a":1,"b":3}`, "a"); a != b {
		t.Errorf("args that differ only in other fields have different keys: %s, %s", a, b)
	}
	if a, b := key(`{"a":1,"b":2}`, "a"), key(`{"a":2,"b":2}`, "a"); a == b {
		t.Errorf("args that differ in a named field have the same key %s", a)
	}
	for _, test := range []struct{ args, want string }{
		{`[1]`, `unique key of job kind "k": the args are not an object with the fields a`},
		{`{"b":1}`, `unique key of job kind "k": the args have no field "a"`},
	} {
		if _, err := job.New("k", json.RawMessage(test.args), job.UniqueArgs("a")); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

func TestNewErrors(t *testing.T) {
	long := strings.Repeat("x", job.MaxName+1)
	tests := []struct {
		kind, args string
		opts       []job.EnqueueOption
		want       string
	}{
		{"", "1", nil, "the name of the kind is empty"},
		{"a b", "1", nil, `the name of the kind has a space or a control character in it: "a b"`},
		{"a\x1b", "1", nil, `the name of the kind has a space or a control character in it: "a\x1b"`},
		{"a\xff", "1", nil, `the name of the kind is not UTF-8: "a\xff"`},
		{long, "1", nil, `the name of the kind has 129 bytes, at most 128 are allowed: "` + long[:40] + `"…`},
		{"k", "", nil, `job kind "k": the args are empty: give JSON, null if there is nothing to say`},
		{"k", "{", nil, `job kind "k": the args are not JSON: unexpected end of JSON input`},
		{"k", "\"\xff\"", nil, `job kind "k": the args are not UTF-8`},
		{"k", `"` + strings.Repeat("x", job.MaxArgs) + `"`, nil, `job kind "k": the args have 1048578 bytes, at most 1048576 are allowed: keep large data elsewhere and give its place`},
		{"k", "1", []job.EnqueueOption{job.Queue("")}, `job kind "k": the name of the queue is empty`},
		{"k", "1", []job.EnqueueOption{job.Priority(0)}, `job kind "k": priority 0: give from 1 to 9`},
		{"k", "1", []job.EnqueueOption{job.Priority(10)}, `job kind "k": priority 10: give from 1 to 9`},
		{"k", "1", []job.EnqueueOption{job.MaxAttempts(0)}, `job kind "k": 0 attempts: give from 1 to a million`},
		{"k", "1", []job.EnqueueOption{job.Unique("")}, `job kind "k": the unique key is empty: leave the option out for a job that need not be unique`},
		{"k", "1", []job.EnqueueOption{job.Unique("a\x00")}, `the unique key is not UTF-8 or has a control character in it: "k a\x00"`},
		{"k", "1", []job.EnqueueOption{job.Unique("a"), job.UniqueFor(-1)}, `job kind "k": unique for -1ns: give up to a hundred years`},
		{"k", "1", []job.EnqueueOption{job.UniqueFor(time.Hour)}, `job kind "k": UniqueFor(1h0m0s) says how long, and nothing says what is unique: give Unique or UniqueArgs as well`},
		{"k", "1", []job.EnqueueOption{job.In(200 * 365 * 24 * time.Hour)}, `job kind "k": a delay of 1752000h0m0s: give up to a hundred years`},
		{"k", "1", []job.EnqueueOption{job.At(time.Date(1, 2, 3, 0, 0, 0, 0, time.UTC))}, `job kind "k": a run time in the year 1: give one from 1970 to 9999`},
		{"k", "1", []job.EnqueueOption{job.At(time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -3600)))}, `job kind "k": a run time in the year 10000: give one from 1970 to 9999`},
	}
	for _, test := range tests {
		_, err := job.New(test.kind, json.RawMessage(test.args), test.opts...)
		if err == nil || err.Error() != test.want {
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
	}
	if _, err := job.Define[chan int]("k").New(nil); err == nil || !strings.Contains(err.Error(), `args of job kind "k"`) {
		t.Errorf("args that cannot be encoded: %v", err)
	}
}

// TestUniqueForOfAKind: the kind sets how long keys are held, and each of its jobs has its own key.
func TestUniqueForOfAKind(t *testing.T) {
	kind := job.Define[note]("note", job.UniqueFor(time.Hour))
	j, err := kind.New(note{}, job.Unique("k"))
	if err != nil || j.UniqueFor != time.Hour || j.UniqueKey != "note k" {
		t.Errorf("got %+v, %v; want a key that is held for an hour", j, err)
	}
	if _, err := kind.New(note{}); err == nil || !strings.Contains(err.Error(), "give Unique or UniqueArgs as well") {
		t.Errorf("a job without a key: %v", err)
	}
}

func TestDefinePanics(t *testing.T) {
	defer func() {
		if got, want := fmt.Sprint(recover()), "job: Define: the name of the kind is empty"; got != want {
			t.Errorf("panic %q, want %q", got, want)
		}
	}()
	job.Define[note]("")
}

func TestEnqueueAll(t *testing.T) {
	ctx := t.Context()
	store := &countingInserts{Store: memory.New()}
	notes := func(n int, end error) func(func(note, error) bool) {
		return func(yield func(note, error) bool) {
			for i := range n {
				if !yield(note{fmt.Sprint(i % 2000)}, nil) {
					return
				}
			}
			if end != nil {
				yield(note{}, end)
			}
		}
	}
	done, err := noteKind.EnqueueAll(ctx, store, notes(2500, nil), job.UniqueArgs())
	if err != nil || done != (job.Bulk{Enqueued: 2000, Duplicates: 500}) {
		t.Errorf("EnqueueAll: %+v, %v; want 2000 and 500 duplicates", done, err)
	}
	if store.inserts != 3 || store.most != 1000 {
		t.Errorf("%d inserts of at most %d jobs, want 3 of 1000", store.inserts, store.most)
	}
	done, err = noteKind.EnqueueAll(ctx, store, notes(7, errFlaky))
	if !errors.Is(err, errFlaky) || done.Enqueued != 7 {
		t.Errorf("a stream that fails: %+v, %v; want the 7 jobs before the error", done, err)
	}
	store.fail = true
	if done, err = noteKind.EnqueueAll(ctx, store, notes(1500, nil)); err == nil || done.Enqueued != 0 {
		t.Errorf("a store that fails: %+v, %v", done, err)
	}
}

type countingInserts struct {
	job.Store
	mu            sync.Mutex
	inserts, most int
	fail          bool
}

func (c *countingInserts) Insert(ctx context.Context, jobs ...*job.Job) ([]job.ID, error) {
	if c.fail {
		return nil, errFlaky
	}
	c.mu.Lock()
	c.inserts++
	c.most = max(c.most, len(jobs))
	c.mu.Unlock()
	return c.Store.Insert(ctx, jobs...)
}

func TestEnqueueDuplicate(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	first, err := noteKind.Enqueue(ctx, store, note{}, job.Unique("one"))
	if err != nil || first.Duplicate {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := noteKind.Enqueue(ctx, store, note{}, job.Unique("one"))
	if err != nil || !second.Duplicate || second.ID != first.ID {
		t.Errorf("%+v, %v; want a duplicate of %v", second, err, first.ID)
	}
}

func TestOpen(t *testing.T) {
	store, err := job.Open(t.Context(), "memory:")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	_, err = job.Open(t.Context(), "mongodb://secret@host")
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "memory:") {
		t.Errorf("an unknown scheme: %v", err)
	}
	if err := job.CheckURL("mongodb://host"); err == nil || !strings.Contains(err.Error(), `"mongodb:"`) {
		t.Errorf("CheckURL of an unknown scheme: %v", err)
	}
	if err := job.CheckURL("memory:"); err != nil {
		t.Error(err)
	}
	const want = "memory: names a new store: nothing may follow it"
	if err := job.CheckURL("memory:geheim"); err == nil || err.Error() != want {
		t.Errorf("CheckURL of a store in memory with a name: got %v, want %s", err, want)
	}
	if _, err := job.Open(t.Context(), "memory:geheim"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Open of a store in memory with a name: got %v, want %s", err, want)
	}
}

func TestUniqueOptionsThatMeanNothing(t *testing.T) {
	for want, opts := range map[string][]job.EnqueueOption{
		"UniqueFor(1s) says how long, and nothing says what is unique":       {job.UniqueFor(time.Second)},
		"UniqueWhile says in which states, and nothing says what is unique":  {job.UniqueWhile(job.Queued)},
		"Replace says what becomes of the other job, and nothing says what ": {job.Replace()},
		"UniqueWhile has no state":                                    {job.Unique("a"), job.UniqueWhile()},
		"UniqueWhile(retrying): give states in which jobs are stored": {job.Unique("a"), job.UniqueWhile(job.Retrying)},
		"debounced for 0s, and at most 1s: give a positive duration":  {job.Debounce("a", 0, time.Second)},
		"debounced for 2s, and at most 1s: give a positive duration":  {job.Debounce("a", 2*time.Second, time.Second)},
		"Debounce says when the job is due, and what becomes of":      {job.Debounce("a", 1, 2), job.At(time.Now())},
		"leave In, At and UniqueWhile out":                            {job.Debounce("a", 1, 2), job.UniqueWhile(job.Running)},
		"the unique key is empty":                                     {job.Debounce("", 1, 2)},
		"add Queued, or leave Replace out":                            {job.Unique("a"), job.UniqueWhile(job.Running), job.Replace()},
	} {
		if _, err := job.New("k", json.RawMessage("null"), opts...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q in it", err, want)
		}
	}
}

// TestNotUnique: one job of a unique kind has no key.
func TestNotUnique(t *testing.T) {
	kind := job.Define[note]("unique", job.UniqueArgs(), job.UniqueFor(time.Hour), job.Replace())
	j, err := kind.New(note{"a"}, job.NotUnique())
	if err != nil {
		t.Fatal(err)
	}
	if j.UniqueKey != "" || j.UniqueFor != 0 || j.Replace {
		t.Errorf("key %q, for %v, replace %v, want none", j.UniqueKey, j.UniqueFor, j.Replace)
	}
}
