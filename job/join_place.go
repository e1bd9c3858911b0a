package job

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"sync"
	"time"
)

// Prefixes of keys: a queue and a cron may have the same name.
const (
	queueKeys  = "queue "
	uniqueKeys = "unique "
	laneKeys   = "lane "
	jobKeys    = "job "
	cronKeys   = "cron "
	workerKeys = "worker "
	auditKey   = "audit log"
)

// ranked returns the stores in the order of their scores for a key (rendezvous hashing); the first owns the key. The score depends only on the key
// and the position of a store, so a store that is added receives keys, but moves none between the others. The score must never change: it decides
// where stored jobs are looked for.
func (j *Joined) ranked(key string) []*part {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	sum := h.Sum64()
	ranked := slices.Clone(j.parts)
	slices.SortFunc(ranked, func(a, b *part) int { return cmp.Compare(b.score(sum), a.score(sum)) })
	return ranked
}

// score mixes the hash of a key with the position of the store, as the last step of SplitMix64 does.
func (p *part) score(sum uint64) uint64 {
	x := sum + uint64(p.index+1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

const (
	limitsKnown  = 5 * time.Second // after that, the limits of a queue are read again
	mostKnown    = 10_000          // queues whose limits are remembered
	mostLocated  = 1_000_000
	mostSessions = 10_000 // besides those with something that a store does not know yet
)

// limitedQueues caches which queues have limits.
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

// changed notes that limits of a queue were set (some), or removed: then it is unknown whether others are left.
func (l *limitedQueues) changed(queue string, some bool) {
	if some {
		l.set(queue, true)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, queue)
}

// lately returns what is known about a queue. If that is too old, fresh is false for one caller, who has to ask the stores.
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

// isLimited reports whether a queue has limits. All stores know them, so it works while one does not answer.
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

// locations remembers at which store, and by which session, jobs were claimed in this process. Jobs never move, so a location is never wrong. For a
// job without one, all stores are asked.
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

// evict makes space for n more, and for an eighth of most besides, if there would be more than most. l.mu is held.
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

// lookup returns the known locations of jobs.
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

// find returns the store of a job, or nil if it is not known.
func (l *locations) find(id ID) *part {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[id].part
}

// holders returns the stores of jobs, or nil if one of them is not known.
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

// claimed returns the jobs that a session claimed from one store.
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

// forgetKnown forgets attempts that the session no longer holds, unless the job was claimed again after known was read.
func (l *locations) forgetKnown(known map[ID]location, ids []ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if at, is := known[id]; is && l.of[id] == at {
			delete(l.of, id)
		}
	}
}

// forget forgets attempts that have ended, unless the next attempt of the job has been claimed already.
func (l *locations) forget(outcomes []Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range outcomes {
		if j := outcomes[i].Job; j.State != Running && l.of[j.ID].attempt == j.Attempt {
			delete(l.of, j.ID)
		}
	}
}
