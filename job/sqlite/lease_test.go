package sqlite_test

import (
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// sessionVersion is the version of the schema in which each job has its own lease.
const sessionVersion = 4

// TestMigrateLeases: after the migration, running jobs are leased as long as before, and no longer.
func TestMigrateLeases(t *testing.T) {
	ctx, s := t.Context(), open(t, migrated(t))
	insert(t, s, []*job.Job{newJob(t), newJob(t)})
	for worker, lease := range map[string]time.Duration{"long": time.Hour, "short": time.Minute} {
		got, err := s.Claim(ctx, job.Claim{
			Worker: worker, Session: job.NewSession(), Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 1}}, Limit: 1, Lease: lease,
		})
		if err != nil || len(got.Jobs) != 1 {
			t.Fatalf("claimed %+v, %v", got, err)
		}
	}
	if err := s.MigrateTo(ctx, sessionVersion); err != nil {
		t.Fatal(err)
	}
	var until int64
	if err := s.DB().QueryRow("select max(lease_until) from meanwhile_job").Scan(&until); err != nil || time.Until(time.UnixMicro(until)) < 50*time.Minute {
		t.Errorf("in version %d a lease of an hour has %v left, %v", sessionVersion, time.Until(time.UnixMicro(until)), err)
	}
	if _, err := s.DB().Exec("update meanwhile_job set lease_until = 1 where worker = 'short'"); err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	got, err := s.Claim(ctx, job.Claim{
		Worker: "w", Session: job.NewSession(), Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 5}}, Limit: 5, Lease: time.Hour, Expired: true,
	})
	if err != nil || len(got.Jobs) != 1 || got.Expired[got.Jobs[0].ID] != "short" {
		t.Errorf("claimed %+v, %v; want the job of the lease that has run out", got, err)
	}
	checkIntegrity(t, s)
}
