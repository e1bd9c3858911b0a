//go:build unix

package main

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// breakWay is the environment variable that selects how the processes of a test break their store: a key of breakers.
const breakWay = "MEANWHILE_FAULTS_BREAK"

// breakers wrap a store in one with a defect.
var breakers = map[string]func(job.Store) job.Store{
	"forget": func(s job.Store) job.Store { return &forgetful{Store: s} },
	"fence":  func(s job.Store) job.Store { return &unfenced{s} },
	"twice":  func(s job.Store) job.Store { return &twice{Store: s} },
	"keys":   func(s job.Store) job.Store { return &keyless{s} },
	"ticks":  func(s job.Store) job.Store { return &joblessTicks{s} },
	"chains": func(s job.Store) job.Store { return &unchained{s} },
	"limits": func(s job.Store) job.Store { return &unlimited{Store: s} },
	"lanes":  func(s job.Store) job.Store { return &closing{Store: s} },
}

// A forgetful store acknowledges jobs without storing them, at every seventh Insert.
type forgetful struct {
	job.Store
	n atomic.Int64
}

func (s *forgetful) Insert(ctx context.Context, jobs ...*job.Job) ([]job.ID, error) {
	if s.n.Add(1)%7 != 0 { // often, since the process may be killed soon
		return s.Store.Insert(ctx, jobs...)
	}
	ids := make([]job.ID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	return ids, nil
}

// An unfenced store shortens all leases to shortLease, so that other workers claim jobs that still run, and never reports a lost lease.
type unfenced struct{ job.Store }

const shortLease = 50 * time.Millisecond

func (s *unfenced) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	c.Lease = shortLease
	return s.Store.Claim(ctx, c)
}

func (s *unfenced) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	r.Lease = shortLease
	renewed, err := s.Store.Renew(ctx, r)
	renewed.Lost = nil
	return renewed, err
}

func (s *unfenced) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	_, err := s.Store.Settle(ctx, session, outcomes...)
	return nil, err
}

// A twice store returns a job from Claim that an earlier Claim has returned, whenever the limit of the claim leaves space for it.
type twice struct {
	job.Store
	mu   sync.Mutex
	last *job.Job
}

func (s *twice) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	got, err := s.Store.Claim(ctx, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || len(got.Jobs) >= c.Limit {
		return got, err
	}
	last := s.last
	s.last = nil
	if len(got.Jobs) > 0 {
		again := *got.Jobs[0]
		s.last = &again
	}
	if last != nil {
		got.Jobs = append(got.Jobs, last)
	}
	return got, err
}

// A keyless store ignores unique keys.
type keyless struct{ job.Store }

func (s *keyless) Insert(ctx context.Context, jobs ...*job.Job) ([]job.ID, error) {
	without := make([]*job.Job, len(jobs))
	for i, j := range jobs {
		c := *j
		c.UniqueKey, c.UniqueFor = "", 0
		without[i] = &c
	}
	return s.Store.Insert(ctx, without...)
}

// An unchained store inserts follow-up jobs in a second transaction, so that they are lost when the process is killed in between.
type unchained struct{ job.Store }

func (s *unchained) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	jobs := make([]*job.Job, len(outcomes))
	for i, o := range outcomes {
		jobs[i] = o.Job
	}
	lost, err := s.Store.Settle(ctx, session, job.Outcomes(jobs...)...)
	if err != nil {
		return nil, err
	}
	then, err := job.FollowUps(outcomes, lost)
	if err == nil && len(then) > 0 {
		time.Sleep(300 * time.Millisecond) // so that a process is soon killed in between
		_, err = s.Store.Insert(ctx, then...)
	}
	return lost, err
}

// A joblessTicks store reports every second tick as stored without storing it or its job.
type joblessTicks struct{ job.Store }

func (s *joblessTicks) Tick(ctx context.Context, t job.Tick) (bool, error) {
	if t.Job != nil && t.At.Unix()%2 == 0 {
		return true, nil
	}
	return s.Store.Tick(ctx, t)
}

// An unlimited store removes all limits at its first claim.
type unlimited struct {
	job.Store
	once sync.Once
}

func (s *unlimited) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	s.once.Do(func() {
		for _, l := range limitedQueues {
			_ = s.SetLimits(ctx, l.name, job.Limits{}) // if it fails, another process does it
		}
	})
	return s.Store.Claim(ctx, c)
}

// A closing store deletes the rows of waiting jobs at every seventh claim, so that the jobs in lanes do not start.
type closing struct {
	job.Store
	n atomic.Int64
}

func (s *closing) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	got, err := s.Store.Claim(ctx, c)
	if db, ok := s.Store.(interface{ DB() *sql.DB }); ok && s.n.Add(1)%7 == 0 {
		_, _ = db.DB().ExecContext(ctx, "delete from meanwhile_waiting") // the file may be locked
	}
	return got, err
}
