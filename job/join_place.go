package job

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"sync"
	"time"
)

// What a key is of: the same text may be the name of a queue and of a cron.
const (
	queueKeys  = "queue "
	uniqueKeys = "unique "
	laneKeys   = "lane "
	jobKeys    = "job "
	cronKeys   = "cron "
	workerKeys = "worker "
	auditKey   = "audit log"
)

// ranked returns the stores by how high they score for a key: the first owns it (rendezvous hashing). The score of a store depends on its
// place alone, so one that is added takes keys from the others and moves none between them. It must never change: jobs lie by it.
func (j *Joined) ranked(key string) []*part {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	sum := h.Sum64()
	ranked := slices.Clone(j.parts)
	slices.SortFunc(ranked, func(a, b *part) int { return cmp.Compare(b.score(sum), a.score(sum)) })
	return ranked
}

// score mixes the hash of a key with the place of the store, as the last step of SplitMix64 does.
func (p *part) score(sum uint64) uint64 {
	x := sum + uint64(p.index+1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

const (
	limitsKnown  = 5 * time.Second // what is known of the limits of a queue is asked again then
	mostKnown    = 10_000          // queues of which that is known
	mostLocated  = 1_000_000
	mostSessions = 10_000 // and those that have something to catch up on
)

// limitedQueues has what is known of queues: whether they have limits.
type limitedQueues struct {
	mu    sync.Mutex
	known map[string]limitedQueue
}

type limitedQueue struct {
	limited bool
	read    time.Time
}

func (l *limitedQueues) set(queue string, limited bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= mostKnown {
		l.known = map[string]limitedQueue{}
	}
	l.known[queue] = limitedQueue{limited, time.Now()}
}

// changed is set for a queue some of whose limits were set or removed: then others may be left.
func (l *limitedQueues) changed(queue string, some bool) {
	if some {
		l.set(queue, true)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, queue)
}

// lately returns what is known of a queue. When that is too old, fresh is false for one caller, who asks.
func (l *limitedQueues) lately(queue string) (limited, known, fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q, known := l.known[queue]
	now := time.Now()
	if known && now.Sub(q.read) >= limitsKnown {
		l.known[queue] = limitedQueue{q.limited, now}
		return q.limited, true, false
	}
	return q.limited, known, known
}

// isLimited reports whether a queue has limits. All stores have them, so that one which does not answer leaves that known.
func (j *Joined) isLimited(ctx context.Context, queue string) (bool, error) {
	limited, known, fresh := j.limited.lately(queue)
	if fresh {
		return limited, nil
	}
	var last error
	for _, p := range j.ranked(queueKeys + queue) {
		a := ask(ctx, j, p, partCall, func(ctx context.Context, p *part) ([]LimitUse, error) { return p.Limits(ctx, queue, "") })
		if a.err == nil {
			limited = a.got[0].Limits != Limits{} || a.got[0].Overrides > 0
			j.limited.set(queue, limited)
			return limited, nil
		}
		last = a.err
	}
	if known {
		return limited, nil
	}
	return false, last
}

// locations says at which store jobs are that were claimed here, and by which session. Jobs stay at their store, so it is never wrong about that;
// what is not in it is asked for everywhere.
type locations struct {
	mu sync.Mutex
	of map[ID]location
}

type location struct {
	part    *part
	session Session
	attempt int
}

func (l *locations) note(jobs []*Job, at location) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = make(map[ID]location, len(jobs))
	}
	l.evict(len(jobs), mostLocated)
	for _, j := range jobs {
		at.attempt = j.Attempt
		l.of[j.ID] = at
	}
}

// evict makes space for n more, and some besides, where there would be more than most. l.mu is held.
func (l *locations) evict(n, most int) {
	if len(l.of)+n <= most {
		return
	}
	for id := range l.of {
		if len(l.of)+n <= most*7/8 {
			return
		}
		delete(l.of, id)
	}
}

// lookup returns what is known of jobs.
func (l *locations) lookup(lists ...[]ID) map[ID]location {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := map[ID]location{}
	for _, ids := range lists {
		for _, id := range ids {
			if at, is := l.of[id]; is {
				known[id] = at
			}
		}
	}
	return known
}

// find returns the store of a job, or nil.
func (l *locations) find(id ID) *part {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[id].part
}

// holders returns the stores at which jobs are, or nil when that is not known of one of them.
func (l *locations) holders(ids []ID) (parts []*part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		p := l.of[id].part
		if p == nil {
			return nil
		}
		if !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// claimed returns the jobs that were claimed from one store by one session.
func (l *locations) claimed(p *part, session Session) (ids []ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, at := range l.of {
		if at.part == p && at.session == session {
			ids = append(ids, id)
		}
	}
	return ids
}

// droppedAt returns those of the jobs that may be at a store.
func (l *locations) droppedAt(p *part, ids []ID) (at []ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if known := l.of[id].part; known == nil || known == p {
			at = append(at, id)
		}
	}
	return at
}

// forgetKnown forgets attempts that the session does not hold any more, unless a claim has found another one since it was known.
func (l *locations) forgetKnown(known map[ID]location, ids []ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if at, is := known[id]; is && l.of[id] == at {
			delete(l.of, id)
		}
	}
}

// forget forgets attempts that have ended; the next one of the same job may have been claimed by now.
func (l *locations) forget(outcomes []Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range outcomes {
		if j := outcomes[i].Job; j.State != Running && l.of[j.ID].attempt == j.Attempt {
			delete(l.of, j.ID)
		}
	}
}
