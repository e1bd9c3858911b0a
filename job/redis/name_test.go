package redis_test

import (
	"crypto/rand"
	"maps"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestAnyNames inserts, claims, settles, lists and deletes jobs with any names and keys.
func TestAnyNames(t *testing.T) {
	s := open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	char := rapid.OneOf(rapid.RuneFrom([]rune("{}:*[]\\\"'%$ab.,;|")), rapid.RuneFrom(nil, unicode.L, unicode.S, unicode.P))
	name := rapid.StringOfN(char, 1, 40, job.MaxName)
	key := rapid.StringOfN(rapid.OneOf(char, rapid.Just(' ')), 0, 40, 100)
	rapid.Check(t, func(r *rapid.T) {
		opts := []job.EnqueueOption{job.Queue(name.Draw(r, "queue")), job.LimitKey(key.Draw(r, "limit key")), job.Meta(job.MetaID, key.Draw(r, "jid"))}
		if unique := key.Draw(r, "unique key"); unique != "" {
			opts = append(opts, job.Unique(unique))
		}
		j, err := job.New(name.Draw(r, "kind"), []byte(`{}`), opts...)
		if err != nil {
			r.Skip(err)
		}
		worker := key.Draw(r, "worker")
		if ids, err := s.Insert(t.Context(), j); err != nil || ids[0] != j.ID {
			r.Fatal(ids, err)
		}
		got, err := s.Claim(t.Context(), job.Claim{Worker: worker, Session: 1, Queues: []job.QueueLimit{{Queue: j.Queue, Limit: 5}}, Limit: 5, Lease: time.Hour, Kinds: []string{j.Kind}})
		if err != nil || len(got.Jobs) != 1 {
			r.Fatal(len(got.Jobs), err)
		}
		c := got.Jobs[0]
		if c.ID != j.ID || c.Queue != j.Queue || c.Kind != j.Kind || c.LimitKey != j.LimitKey || c.UniqueKey != j.UniqueKey || !maps.Equal(c.Meta, j.Meta) || c.Worker != worker {
			r.Fatalf("claimed %+v, want %+v", c, j)
		}
		c.State = job.Completed
		if lost, err := s.Settle(t.Context(), 1, job.Outcome{Job: c}); err != nil || len(lost) > 0 {
			r.Fatal(lost, err)
		}
		f := job.Filter{Queues: []string{j.Queue}, Kinds: []string{j.Kind}, States: []job.State{job.Completed}, UniqueKey: j.UniqueKey, Worker: worker, Meta: j.Meta, Limit: 2}
		if jobs, err := s.List(t.Context(), f); err != nil || len(jobs) != 1 || jobs[0].ID != j.ID {
			r.Fatalf("listed %d by %+v: %v", len(jobs), f, err)
		}
		if done, err := s.Apply(t.Context(), f, job.ActionDelete); err != nil || done.Changed != 1 {
			r.Fatal(done, err)
		}
	})
	if counts, err := s.Counts(t.Context()); err != nil || len(counts) > 0 {
		t.Errorf("left are %v: %v", counts, err)
	}
}
