package jobs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Names that fillOperated uses.
const (
	common = "kind-1" // the kind of one job in thirty
	rare   = "rare"   // the kind of one job in ten thousand
	keyed  = "keyed"  // the queue whose jobs have limit keys
)

// operated has the jobs to look up in a store that has been in use for a week.
type operated struct {
	random         *rand.Rand
	example        map[job.State]*job.Job
	middle, oldest job.ID
	key, metaID    string
}

// fillOperated fills a store as a week of use leaves it, or with few jobs and few statistics to test that it works: of n jobs of 31 kinds in 11
// queues, 60 % are completed, 5 % canceled, 10 % discarded, 5 % wait for another attempt, 5 % for their time and 15 % for a worker, and up to 2,000
// run. Those that failed have up to three errors, one in ten with a stack. There are limits, three workers with stats of a week, 20 crons and 5,000
// entries of the audit log.
func fillOperated(ctx context.Context, s job.Store, n int) (*operated, error) {
	o := &operated{random: rand.New(rand.NewPCG(1, 2)), example: map[job.State]*job.Job{}}
	if err := s.SetLimits(ctx, keyed, job.Limits{Running: 100, EachKey: job.KeyLimits{Running: 2}}); err != nil {
		return nil, err
	}
	const part = 10_000
	begun := time.Now().Add(-7 * 24 * time.Hour)
	var waiting []*job.Job // no claim may find these before the end
	for from := 0; from < n; from += part {
		var jobs []*job.Job
		become := map[job.ID]job.State{}
		for i := from; i < min(from+part, n); i++ {
			j, state, err := o.newJob(i, begun.Add(time.Duration(i)*7*24*time.Hour/time.Duration(n)))
			switch {
			case err != nil:
				return nil, err
			case state == job.Queued || state == job.Scheduled:
				waiting = append(waiting, j)
			default:
				jobs = append(jobs, j)
			}
			become[j.ID] = state
			o.note(j, state, i, n)
		}
		if err := o.work(ctx, s, jobs, become); err != nil {
			return nil, err
		}
	}
	for len(waiting) > 0 {
		next := min(part, len(waiting))
		if _, err := s.Insert(ctx, waiting[:next]...); err != nil {
			return nil, err
		}
		waiting = waiting[next:]
	}
	held, err := claimOperated(ctx, s, 2, min(2000, n/10), "queue-2", "queue-3")
	if err != nil {
		return nil, err
	}
	o.example[job.Running] = held[0]
	return o, o.surround(ctx, s)
}

func (o *operated) newJob(i int, at time.Time) (*job.Job, job.State, error) {
	state := job.Queued
	switch share := i % 100; {
	case share < 60:
		state = job.Completed
	case share < 65:
		state = job.Canceled
	case share < 75:
		state = job.Discarded
	case share < 80:
		state = job.Retrying
	case share < 85:
		state = job.Scheduled
	}
	k := o.random.IntN(30)
	kind, queue := fmt.Sprint("kind-", k), fmt.Sprint("queue-", k%10)
	opts := []job.EnqueueOption{job.Priority(1 + o.random.IntN(9))}
	switch {
	case i%10_000 == 77:
		kind = rare
	case k == 29:
		queue = keyed
		opts = append(opts, job.LimitKey(fmt.Sprint("customer-", o.random.IntN(500))))
	}
	opts = append(opts, job.Queue(queue))
	if i%3 == 0 {
		opts = append(opts, job.Meta("tenant", fmt.Sprint(o.random.IntN(1000))))
	}
	if i%20 == 0 {
		opts = append(opts, job.Unique(fmt.Sprint("order-", i)), job.Meta(job.MetaID, fmt.Sprint("foreign-", i)))
	}
	if state == job.Scheduled {
		opts = append(opts, job.In(time.Hour+time.Duration(o.random.IntN(7*24))*time.Hour))
	}
	j, err := job.New(kind, fmt.Appendf(nil, `{"user": %d, "template": "template-%d", "urls": ["https://example.com/%d"]}`, o.random.IntN(100_000), o.random.IntN(50), i), opts...)
	if err != nil {
		return nil, "", err
	}
	j.ID = idAt(at, o.random)
	return j, state, nil
}

// idAt returns an ID of a job that was created at t.
func idAt(t time.Time, random *rand.Rand) (id job.ID) {
	binary.BigEndian.PutUint64(id[:8], uint64(t.UnixMilli())<<16|7<<12|uint64(random.IntN(4096)))
	binary.BigEndian.PutUint64(id[8:], random.Uint64()>>2|1<<63)
	return id
}

// note records jobs that the pages ask for.
func (o *operated) note(j *job.Job, state job.State, i, n int) {
	o.example[state] = j
	switch i {
	case 0:
		o.oldest = j.ID
	case n / 2 / 20 * 20:
		o.middle, o.key, o.metaID = j.ID, j.UniqueKey, j.Meta[job.MetaID]
	}
}

// work inserts jobs, claims them and settles them in the states of become.
func (o *operated) work(ctx context.Context, s job.Store, jobs []*job.Job, become map[job.ID]job.State) error {
	if _, err := s.Insert(ctx, jobs...); err != nil {
		return err
	}
	queues := []string{keyed}
	for i := range 10 {
		queues = append(queues, fmt.Sprint("queue-", i))
	}
	for left := len(jobs); left > 0; {
		claimed, err := claimOperated(ctx, s, 1, left, queues...)
		if err != nil {
			return err
		}
		for _, j := range claimed {
			o.run(j, become[j.ID])
		}
		if lost, err := s.Settle(ctx, 1, job.Outcomes(claimed...)...); err != nil || len(lost) > 0 {
			return fmt.Errorf("%d of %d jobs are lost, %v", len(lost), len(claimed), err)
		}
		left -= len(claimed)
	}
	return nil
}

func claimOperated(ctx context.Context, s job.Store, session job.Session, n int, queues ...string) ([]*job.Job, error) {
	c := job.Claim{Worker: fmt.Sprint("worker-", session), Session: session, Limit: n, Lease: 24 * time.Hour}
	for _, q := range queues {
		c.Queues = append(c.Queues, job.QueueLimit{Queue: q, Limit: n})
	}
	got, err := s.Claim(ctx, c)
	if err == nil && len(got.Jobs) == 0 {
		err = fmt.Errorf("none of %d jobs was claimed", n)
	}
	return got.Jobs, err
}

// run sets the fields that an attempt sets.
func (o *operated) run(j *job.Job, state job.State) {
	switch state {
	case job.Completed:
		if j.State = state; o.random.IntN(4) == 0 {
			j.Result = json.RawMessage(`{"sent": true, "bytes": 4711}`)
			j.Records = []job.Record{{Attempt: 1, Time: time.Now(), Level: "INFO", Message: "the mail was sent", Attrs: "host=smtp.example.com took=31ms"}}
		}
		return
	case job.Retrying:
		j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, time.Hour+time.Duration(o.random.IntN(24))*time.Hour
	default:
		j.State = state
	}
	for range 1 + o.random.IntN(3) {
		ended := time.Now().Add(-time.Duration(o.random.IntN(90)) * time.Minute)
		f := job.Failure{Attempt: j.Attempt, Started: ended.Add(-time.Second), Time: ended, Worker: j.Worker, Error: o.errorText()}
		if o.random.IntN(10) == 0 {
			f.Stack = strings.Repeat("example.com/shop.send(0xc000123456)\n\t/src/shop/send.go:41 +0x1d\n", 20)
		}
		j.Failures = append(j.Failures, f)
	}
}

func (o *operated) errorText() string {
	n := o.random.IntN(1_000_000)
	return [...]string{
		fmt.Sprintf("order %d: the upstream answers with status 503", n),
		fmt.Sprintf("get https://example.com/%d: connection timed out", n),
		fmt.Sprintf("user %d has no address", n),
		fmt.Sprintf("decode the answer of customer %08x: unexpected end of JSON input (token=sk-%d)", n, n),
		"the disk is full",
	}[o.random.IntN(5)]
}

// surround adds the data of a store besides jobs.
func (o *operated) surround(ctx context.Context, s job.Store) error {
	now := time.Now().UTC().Truncate(time.Minute)
	for w := range 3 {
		info := job.WorkerInfo{Host: "host", PID: w, Version: "1", Started: now, Concurrency: 1000, Running: 650, Memory: 1 << 28}
		for k := range 30 {
			info.Kinds = append(info.Kinds, fmt.Sprint("kind-", k))
		}
		for q := range 10 {
			info.Queues = append(info.Queues, fmt.Sprint("queue-", q))
		}
		for c := range 20 {
			info.Crons = append(info.Crons, fmt.Sprint("cron-", c))
		}
		for k := range 10 {
			waits := job.KindWaits{Kind: info.Kinds[k], Time: time.Hour}
			for i := range 5 {
				waits.Waits = append(waits.Waits, job.WaitTime{Wait: fmt.Sprint("semaphore made at send.go:", i), Time: 12 * time.Minute})
			}
			info.Waits = append(info.Waits, waits)
		}
		renewal := job.Renewal{Worker: fmt.Sprint("worker-", w+1), Session: job.Session(w + 1), Lease: 24 * time.Hour, Info: info}
		for minute := range size(120, 7) {
			renewal.Stats = append(renewal.Stats, o.stats(now.Add(-time.Duration(minute)*time.Minute), renewal.Worker)...)
		}
		if w == 0 {
			for span := 5; span < size(7*48, 9); span++ {
				renewal.Stats = append(renewal.Stats, o.stats(now.Add(-time.Duration(span)*job.StatsSpan), renewal.Worker)...)
			}
		}
		if _, err := s.Renew(ctx, renewal); err != nil {
			return err
		}
	}
	if _, err := s.Prune(ctx, nil, 1); err != nil { // adds up stats that are older than two hours
		return err
	}
	for c := range 20 {
		name := fmt.Sprint("cron-", c)
		j, err := job.New(common, json.RawMessage("null"), job.Queue("queue-1"), job.Meta(job.MetaCron, name))
		if err != nil {
			return err
		}
		if _, err := s.Tick(ctx, job.Tick{Cron: name, Spec: "@every 1h", At: now, Next: now.Add(time.Hour), Job: j}); err != nil {
			return err
		}
	}
	entries := make([]job.AuditEntry, 5000)
	for i := range entries {
		entries[i] = job.AuditEntry{Actor: "ada", Via: "dashboard", Action: "retry", Target: "kind=kind-1 state=discarded", Changed: int64(i)}
	}
	return s.Audit(ctx, entries...)
}

// stats returns what a worker did in a minute, by kind and by queue.
func (o *operated) stats(at time.Time, worker string) (rows []job.Stat) {
	for k := range 30 {
		row := job.Stat{Minute: at, Worker: worker, Queue: fmt.Sprint("queue-", k%10), Kind: fmt.Sprint("kind-", k), Completed: 6, Retried: 1, Discarded: 1}
		for range 8 {
			row.Wait.Add(time.Duration(o.random.IntN(1000)) * time.Millisecond)
			row.Run.Add(time.Duration(o.random.IntN(5000)) * time.Millisecond)
		}
		rows = append(rows, row)
	}
	for q := range 10 {
		rows = append(rows, job.Stat{Minute: at, Worker: worker, Queue: fmt.Sprint("queue-", q), Queued: 15_000, Running: 200})
	}
	return rows
}
