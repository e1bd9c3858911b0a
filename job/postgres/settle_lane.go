package postgres

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meanwhile-go/meanwhile/job"
)

// settleLanes writes the effects of outcomes on the lanes of jobs that the session holds: throttling, and units.
func settleLanes(ctx context.Context, s *Store, r runner, session job.Session, outcomes []job.Outcome) error {
	booked := slices.ContainsFunc(outcomes, func(o job.Outcome) bool { return o.Units != 0 })
	if booked {
		if err := book(ctx, s, r, session, outcomes); err != nil {
			return err
		}
	}
	throttled := slices.DeleteFunc(slices.Clone(outcomes), func(o job.Outcome) bool { return o.Throttle <= 0 })
	if len(throttled) == 0 {
		return nil
	}
	_, err := r.ids(ctx, s.sql("throttle"), throttleArgs(session, throttled)...)
	return err
}

func throttleArgs(session job.Session, throttled []job.Outcome) []any {
	ids, attempts, held := make([][16]byte, len(throttled)), make([]int32, len(throttled)), make([]*pgtype.Interval, len(throttled))
	queued := make([]bool, len(throttled))
	for i, o := range throttled {
		ids[i], attempts[i], held[i] = o.Job.ID, int32(o.Job.Attempt), interval(o.Throttle)
		queued[i] = o.Job.State == job.Queued
	}
	return []any{int64(session), ids, attempts, held, queued}
}

// book charges the units of outcomes. It locks their queues in order, including those that are throttled.
func book(ctx context.Context, s *Store, r runner, session job.Session, outcomes []job.Outcome) error {
	ids, attempts, queued := make([][16]byte, len(outcomes)), make([]int32, len(outcomes)), make([]bool, len(outcomes))
	for i, o := range outcomes {
		ids[i], attempts[i], queued[i] = o.Job.ID, int32(o.Job.Attempt), o.Job.State == job.Queued
	}
	units := map[string]map[string][]int{} // by queue and key
	var queue, key string
	var place int
	err := r.each(ctx, s.sql("lane_of"), []any{int64(session), ids, attempts, queued}, []any{&queue, &key, &place}, func() error {
		if units[queue] == nil {
			units[queue] = map[string][]int{}
		}
		units[queue][key] = append(units[queue][key], outcomes[place].Units)
		return nil
	})
	for _, queue := range slices.Sorted(maps.Keys(units)) {
		if err == nil {
			err = s.bookQueue(ctx, r, queue, units[queue])
		}
	}
	return err
}

// bookQueue charges units of jobs of a queue, by limit key.
func (s *Store) bookQueue(ctx context.Context, r runner, queue string, units map[string][]int) error {
	var q job.LaneQueue
	var at time.Time
	if _, err := s.lockQueue(ctx, r, queue, &q, &at); err != nil {
		return err
	}
	if q.Limits.Units.N == 0 && q.Limits.EachKey.Units.N == 0 && q.Overrides == 0 {
		return nil
	}
	var booked []job.Lane
	for _, key := range slices.Sorted(maps.Keys(units)) {
		booked = append(booked, job.Lane{Key: key})
	}
	if err := s.readKept(ctx, r, queue, booked, false, true, true); err != nil {
		return err
	}
	var lanes []string
	var times []*time.Time
	var idle []time.Time
	for i := range booked {
		l := &booked[i]
		for _, n := range units[l.Key] {
			q.Book(l, n, at)
		}
		if l.Key != "" && q.Limits.OfKey(l.Own).Units.N > 0 {
			lanes, times, idle = append(lanes, l.Key), append(times, instant(l.Paid)), append(idle, l.Idle())
		}
	}
	_, err := r.ids(ctx, s.sql("lane_book"), queue, instant(q.Paid), lanes, times, idle)
	return err
}
