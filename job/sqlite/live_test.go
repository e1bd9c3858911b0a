package sqlite_test

import (
	"slices"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestMinutes lets the minute pass after which orders are dropped and watches are over, by moving what was written back.
func TestMinutes(t *testing.T) {
	s := open(t, file(t))
	renew := func() job.Renewed {
		t.Helper()
		got, err := s.Renew(t.Context(), job.Renewal{Worker: "w", Lease: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	back := func(by time.Duration) {
		t.Helper()
		for _, statement := range []string{"update meanwhile_order set made = made - ?", "update meanwhile_watch set until = until - ?"} {
			if _, err := s.DB().Exec(statement, by.Microseconds()); err != nil {
				t.Fatal(err)
			}
		}
	}
	order := func(o job.Order) {
		t.Helper()
		if err := s.Order(t.Context(), "w", o); err != nil {
			t.Fatal(err)
		}
	}
	rows := func() (n int) {
		t.Helper()
		if err := s.DB().QueryRow("select (select count(*) from meanwhile_order) + (select count(*) from meanwhile_watch)").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}

	renew()
	j := newJob(t)
	insert(t, s, []*job.Job{j})
	claimed, err := s.Claim(t.Context(), job.Claim{Worker: "w", Queues: []job.QueueLimit{{Queue: j.Queue, Limit: 1}}, Limit: 1, Lease: time.Hour})
	if err != nil || len(claimed.Jobs) != 1 {
		t.Fatalf("claimed %+v, %v", claimed, err)
	}
	if _, err := s.Watch(t.Context(), j.ID, time.Hour); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		order(job.Order{Do: job.OrderQuiet})
	}
	back(30 * time.Second)
	if got := renew(); len(got.Orders) != 100 || len(got.Watched) != 1 {
		t.Errorf("after 30 s told %d orders, watched %v", len(got.Orders), got.Watched)
	}
	for range 100 {
		order(job.Order{Do: job.OrderQuiet})
	}
	back(time.Minute)
	order(job.Order{Do: job.OrderResume}) // there is room again
	if got := renew(); !slices.Equal(got.Orders, []job.Order{{Do: job.OrderResume}}) || len(got.Watched) != 0 {
		t.Errorf("after a minute told %+v, watched %v", got.Orders, got.Watched)
	}

	order(job.Order{Do: job.OrderStop})
	back(time.Minute)
	if _, err := s.Prune(t.Context(), nil, 10); err != nil {
		t.Fatal(err)
	}
	if n := rows(); n != 0 {
		t.Errorf("%d orders and watches outlive a pruning", n)
	}
}
