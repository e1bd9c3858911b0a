package postgres_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
)

// TestJoinedStores has one worker run the jobs of three databases. The contract is tested on joined stores on Redis and in
// memory.
func TestJoinedStores(t *testing.T) {
	t.Parallel()
	parts := []job.Store{open(t, database(t, server())), open(t, database(t, server())), open(t, database(t, server()))}
	joined := job.Join(parts...)
	double := job.Define[int]("double")
	var jobs []*job.Job
	for i := range 300 {
		j, err := double.New(i)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	for few := range slices.Chunk(jobs, 5) { // one call inserts into one of them
		if _, err := job.Insert(t.Context(), joined, few...); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	worker := job.NewWorker(joined, job.Config{}, job.HandleResult(double, func(_ context.Context, n int) (int, error) { return 2 * n, nil }))
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		runs := meanwhile.Go(ctx, worker.Run)
		defer runs.Cancel(nil)
		for i, j := range jobs {
			var result int
			if err := double.Await(ctx, joined, j.ID, &result); err != nil {
				return err
			}
			if result != 2*i {
				t.Errorf("the result of %d is %d", i, result)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range parts {
		if done, err := part.List(t.Context(), job.Filter{States: []job.State{job.Completed}, Limit: len(jobs)}); err != nil || len(done) == 0 || len(done) == len(jobs) {
			t.Errorf("%d of %d jobs are in database %d, %v", len(done), len(jobs), i, err)
		}
	}
}

// TestAJoinedStoreIsNamedWithoutItsPassword tests that a store is named by the server, the database and the schema.
func TestAJoinedStoreIsNamedWithoutItsPassword(t *testing.T) {
	var stores []job.Store
	for _, url := range []string{"postgres://me:secret@127.0.0.1:1/app?schema=jobs", "host=127.0.0.1 port=1 user=me password=secret dbname=other"} {
		s, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, s)
	}
	joined := job.Join(stores...)
	defer joined.Close()
	err := joined.Ping(t.Context())
	for _, want := range []string{"store 1 of 2 (PostgreSQL at 127.0.0.1:1, database app, schema jobs)", "store 2 of 2 (PostgreSQL at 127.0.0.1:1, database other, schema meanwhile)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ping: %v, want %q", err, want)
		}
	}
	if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "user=me password")) {
		t.Errorf("the error shows the password: %v", err)
	}
}
