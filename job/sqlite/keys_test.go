package sqlite_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// keyVersion is the last version of the schema that has a colon between the kind and the unique key.
const keyVersion = 2

// keys returns which job holds which key, read from the file.
func keys(t *testing.T, s *sqlite.Store) []string {
	t.Helper()
	rows, err := s.DB().QueryContext(t.Context(), "select key || ' ' || lower(hex(job)) from meanwhile_key order by 1")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		found = append(found, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

func keyed(t *testing.T, kind, key string, opts ...job.EnqueueOption) *job.Job {
	t.Helper()
	j, err := job.New(kind, []byte("null"), append(opts, job.Unique(key))...)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// insertKeyed stores jobs, none of whose keys is held.
func insertKeyed(t *testing.T, s *sqlite.Store, jobs ...*job.Job) {
	t.Helper()
	ids, err := s.Insert(t.Context(), jobs...)
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range jobs {
		if ids[i] != j.ID {
			t.Errorf("the key %q is held by %v", j.UniqueKey, ids[i])
		}
	}
}

// TestMigrateUniqueKeys migrates keys from the old form to the new one: each job that held a key still holds it, and no other
// key.
func TestMigrateUniqueKeys(t *testing.T) {
	ctx, path := t.Context(), file(t)
	s := open(t, path)
	hour := job.UniqueFor(time.Hour)
	queued, running := keyed(t, "a:b", "c"), keyed(t, "mail", "x y:z")
	done, pruned := keyed(t, "done", "k", hour), keyed(t, "p:q", "k", hour)
	free := keyed(t, "free", "k")
	insertKeyed(t, s, running, done, pruned, free)
	claimed, err := s.Claim(ctx, job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: "default", Limit: 9}}, Limit: 9, Lease: time.Hour})
	if err != nil || len(claimed.Jobs) != 4 {
		t.Fatalf("claimed %+v, %v", claimed, err)
	}
	held := claimed.Jobs[slices.IndexFunc(claimed.Jobs, func(j *job.Job) bool { return j.ID == running.ID })]
	for _, j := range claimed.Jobs {
		if j.State = job.Completed; j == held {
			continue
		}
		if lost, err := s.Settle(ctx, 1, job.Outcomes(j)...); len(lost) > 0 || err != nil {
			t.Fatalf("settle: %v, %v", lost, err)
		}
	}
	if _, err := s.DB().ExecContext(ctx, "delete from meanwhile_job where id = ?", pruned.ID[:]); err != nil {
		t.Fatal(err)
	}
	insertKeyed(t, s, queued)

	if err := s.MigrateTo(ctx, keyVersion); err != nil {
		t.Fatal(err)
	}
	want := []string{
		fmt.Sprintf("a:b:c %x", queued.ID[:]), fmt.Sprintf("done:k %x", done.ID[:]),
		fmt.Sprintf("mail:x y:z %x", running.ID[:]), fmt.Sprintf("p:q:k %x", pruned.ID[:]),
	}
	if got := keys(t, s); !slices.Equal(got, want) {
		t.Errorf("version %d has the keys\n%q, want\n%q", keyVersion, got, want)
	}
	if _, err := s.Insert(ctx, keyed(t, "a", "b")); !errors.Is(err, job.ErrSchema) {
		t.Errorf("insert into version %d: %v, want ErrSchema", keyVersion, err)
	}

	if err := s.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		kind, key string
		holder    *job.Job // nil: the key is free
	}{
		{"a:b", "c", queued},
		{"a", "b:c", nil},
		{"mail", "x y:z", running},
		{"mail", "x", nil},
		{"done", "k", done},
		{"p:q", "k", pruned},
		{"p", "q:k", pruned}, // the kind is no longer known
		{"free", "k", nil},
	} {
		j := keyed(t, test.kind, test.key)
		wanted := j.ID
		if test.holder != nil {
			wanted = test.holder.ID
		}
		if ids, err := s.Insert(ctx, j); err != nil || ids[0] != wanted {
			t.Errorf("insert of %q: %v, %v; want %v", j.UniqueKey, ids, err, wanted)
		}
	}
	if found, err := job.Find(ctx, s, running.ID); err != nil || found.UniqueKey != "mail x y:z" {
		t.Errorf("the running job is %+v, %v", found, err)
	}
	held.UniqueKey = "mail x y:z"
	if lost, err := s.Settle(ctx, 1, job.Outcomes(held)...); len(lost) > 0 || err != nil {
		t.Errorf("settle of the running job: %v, %v", lost, err)
	}
	insertKeyed(t, s, keyed(t, "mail", "x y:z"))
	checkIntegrity(t, s)
}

// TestMigrateUniqueKeysDown: if two keys are the same in the old form, one of them stays.
func TestMigrateUniqueKeysDown(t *testing.T) {
	s := open(t, migrated(t))
	a, b := keyed(t, "a", "b:c"), keyed(t, "a:b", "c")
	insertKeyed(t, s, a, b)
	if err := s.MigrateTo(t.Context(), keyVersion); err != nil {
		t.Fatal(err)
	}
	if got := keys(t, s); len(got) != 1 || got[0] != fmt.Sprintf("a:b:c %x", a.ID[:]) {
		t.Errorf("keys %q, want that of the first job", got)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := keys(t, s); len(got) != 1 || got[0] != fmt.Sprintf("a b:c %x", a.ID[:]) {
		t.Errorf("keys %q, want that of the first job", got)
	}
}
