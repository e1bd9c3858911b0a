package main

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// failingFor is how long emails have been failing, in minutes.
const failingFor = 24

// A busy store has statistics of a week of jobs that were not run, and of emails that have been failing recently, for the
// screenshots of the charts.
type busy struct{ job.Store }

func (b busy) Stats(ctx context.Context, f job.StatsFilter) ([]job.Stat, error) {
	stats, err := b.Store.Stats(ctx, f)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(1, 2))
	now := time.Now().UTC().Truncate(time.Minute)
	for i := 60; i > 0; i-- {
		wave := int64(900 + 400*random.Float64() + 8*float64(60-i))
		s := job.Stat{Minute: now.Add(-time.Duration(i) * time.Minute), Worker: "shop-1", Queue: "mail", Kind: "mail.send", Completed: wave, Retried: random.Int64N(30)}
		if i <= failingFor {
			s.Retried += 300 + random.Int64N(120)
		}
		for range 200 {
			s.Run.Add(time.Duration(20+180*random.Float64()*random.Float64()) * time.Millisecond)
			s.Wait.Add(time.Duration(1+30*random.Float64()*random.Float64()) * time.Millisecond)
		}
		level := job.Stat{Minute: s.Minute, Worker: s.Worker, Queue: s.Queue, Queued: 10 + random.Int64N(30) + int64(i%20), Running: 5 + random.Int64N(20)}
		for _, row := range []job.Stat{s, level} {
			if f.Matches(&row) {
				stats = append(stats, row)
			}
		}
	}
	for i := 16 * 24; i > 4; i-- { // the previous week, in half hours
		wave := int64(30000 + 9000*random.Float64() + 15000*math.Sin(float64(i)/48*2*math.Pi))
		s := job.Stat{Minute: now.Truncate(job.StatsSpan).Add(-time.Duration(i) * job.StatsSpan), Span: job.StatsSpan, Queue: "mail", Kind: "mail.send", Completed: wave, Retried: 200 + random.Int64N(600)}
		for range 50 {
			s.Run.Add(time.Duration(20+180*random.Float64()*random.Float64()) * time.Millisecond)
			s.Wait.Add(time.Duration(1+30*random.Float64()*random.Float64()) * time.Millisecond)
		}
		level := job.Stat{Minute: s.Minute, Span: s.Span, Queue: s.Queue, Queued: wave / 500, Running: 5 + random.Int64N(20)}
		for _, row := range []job.Stat{s, level} {
			if f.Matches(&row) {
				stats = append(stats, row)
			}
		}
	}
	return stats, nil
}
