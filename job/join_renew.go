package job

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"
)

// Renew renews the lease at all stores concurrently. A store that fails does not hold up the others: its jobs count as lost shortly before the
// lease is over there, and are given up when it answers again.
func (j *Joined) Renew(ctx context.Context, r Renewal) (Renewed, error) {
	if err := j.enter(ctx, "renew a lease"); err != nil {
		return Renewed{}, err
	}
	ranked := j.ranked(workerKeys + r.Worker)
	s := j.sessions.find(r.Session, len(j.parts), len(r.Drop) > 0)
	r.Stats = s.uncounted(r.Stats)
	begun := time.Now()
	counted := ranked[0] // the store that keeps the stats of this worker
	drops := make([][]ID, len(j.parts))
	for _, p := range j.parts {
		drops[p.index] = s.drops(p, j.located.droppedAt(p, r.Drop))
	}
	known := j.located.lookup(append(drops, r.Jobs, treeIDs(r.Trees))...)
	answers := askAll(ctx, j, partCall, func(ctx context.Context, p *part) (Renewed, error) {
		own := r.at(p, known)
		own.Drop = drops[p.index]
		if p != counted {
			own.Stats = nil
		}
		return p.Renew(ctx, own)
	})
	if s == nil && allFailed(answers) != nil {
		s = j.sessions.find(r.Session, len(j.parts), true)
	}
	for _, a := range answers {
		s.renewed(a.part, r, drops[a.part.index], begun, a.err)
	}
	if err := noneAnswered(ctx, answers); err != nil {
		s.keepUncounted(r.Stats)
		return Renewed{}, err
	}
	got := Renewed{Lost: j.lost(r, s, answers, known)}
	j.located.forgetKnown(known, got.Lost)
	for _, a := range answers[:len(j.parts)] {
		if a.err == nil {
			j.located.forgetKnown(known, drops[a.part.index])
		}
	}
	if len(r.Stats) > 0 && answers[counted.index].err != nil {
		extra := j.countElsewhere(ctx, r, ranked, answers)
		if extra.err != nil {
			s.keepUncounted(r.Stats)
		}
		answers = append(answers, extra)
	}
	for _, a := range answers {
		if a.err == nil && got.Now.IsZero() {
			got.Now = a.got.Now
		}
	}
	slices.SortStableFunc(answers, func(a, b answer[Renewed]) int { return slices.Index(ranked, a.part) - slices.Index(ranked, b.part) })
	for _, a := range answers {
		got.Canceled = append(got.Canceled, a.got.Canceled...)
		got.Watched = append(got.Watched, a.got.Watched...)
		got.Commands = append(got.Commands, a.got.Commands...)
	}
	got.Canceled, got.Watched = distinct(got.Canceled), distinct(got.Watched)
	got.Watched = got.Watched[:min(MostWatched, len(got.Watched))]
	return got, nil
}

func treeIDs(trees []Tree) []ID {
	ids := make([]ID, len(trees))
	for i := range trees {
		ids[i] = trees[i].Job
	}
	return ids
}

// at returns the renewal for one store, with those jobs and trees that may be there.
func (r Renewal) at(p *part, known map[ID]location) Renewal {
	elsewhere := func(id ID) bool {
		at := known[id].part
		return at != nil && at != p
	}
	r.Jobs = slices.DeleteFunc(slices.Clone(r.Jobs), elsewhere)
	r.Trees = slices.DeleteFunc(slices.Clone(r.Trees), func(t Tree) bool { return elsewhere(t.Job) })
	return r
}

// mostUncounted is how many rows are kept while no store accepts them. The oldest are dropped.
const mostUncounted = 1000

// uncounted adds the rows that no store has taken yet to newer ones.
func (s *joinedSession) uncounted(stats []Stat) []Stat {
	if s == nil {
		return stats
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(stats)
	for _, row := range s.stats {
		if !slices.ContainsFunc(stats, func(other Stat) bool {
			return other.Minute.Equal(row.Minute) && other.Queue == row.Queue && other.Kind == row.Kind
		}) {
			all = append(all, row)
		}
	}
	s.stats = nil
	return all
}

func (s *joinedSession) keepUncounted(stats []Stat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats = stats[max(0, len(stats)-mostUncounted):]
}

// countElsewhere sends the stats of a worker to the next store that answers.
func (j *Joined) countElsewhere(ctx context.Context, r Renewal, ranked []*part, answers []answer[Renewed]) (a answer[Renewed]) {
	r.Drop, r.Jobs, r.Trees = nil, nil, nil
	for _, p := range ranked {
		if answers[p.index].err != nil {
			continue
		}
		a = ask(ctx, j, p, partCall, func(ctx context.Context, p *part) (Renewed, error) { return p.Renew(ctx, r) })
		if a.err == nil {
			break
		}
	}
	return a
}

// lost returns the jobs of r that the session no longer holds: at no store that answers, nor at one that does not answer while the lease holds there.
func (j *Joined) lost(r Renewal, s *joinedSession, answers []answer[Renewed], known map[ID]location) (lost []ID) {
	if len(r.Jobs) == 0 {
		return nil
	}
	gone := make([]map[ID]bool, len(answers))
	over := make([]bool, len(answers))
	for i, a := range answers {
		gone[i] = make(map[ID]bool, len(a.got.Lost))
		for _, id := range a.got.Lost {
			gone[i][id] = true
		}
		over[i] = a.err != nil && s.over(a.part, r.Lease)
	}
	for _, id := range r.Jobs {
		at := known[id].part
		held := false
		for i, a := range answers {
			if at != nil && at != a.part {
				continue
			}
			if a.err == nil {
				held = held || !gone[i][id]
			} else {
				held = held || !over[i]
			}
		}
		if held {
			continue
		}
		lost = append(lost, id)
		for i, a := range answers {
			if over[i] && (at == nil || at == a.part) {
				s.giveUp(a.part, id)
			}
		}
	}
	return lost
}

// drops returns the jobs to give up at a store, more included. It returns none while a claim of the session is under way there: the claim might get
// one of these jobs again, and would lose it. For the same reason no claim starts while there are jobs to give up, see number.
func (s *joinedSession) drops(p *part, more []ID) []ID {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := &s.at[p.index]
	for _, id := range more {
		at.giveUp(id)
	}
	if at.claiming > 0 {
		return nil
	}
	return slices.Collect(maps.Keys(at.drop))
}

// renewed notes the result of a renewal.
func (s *joinedSession) renewed(p *part, r Renewal, dropped []ID, begun time.Time, err error) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := &s.at[p.index]
	if err == nil {
		at.until = begun.Add(r.Lease)
		for _, id := range dropped { // more may have been added since
			delete(at.drop, id)
		}
		return
	}
	if at.until.IsZero() { // the lease started at some time before
		at.until = begun.Add(r.Lease * 2 / 3)
	}
}

func (s *joinedSession) over(p *part, lease time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at[p.index].over(time.Now(), lease)
}

// outlived returns the jobs of a session at those stores where its lease may be over, because it could not be renewed there in time. The worker asks
// often, since a renewal may take long, and gives up those of the jobs that run.
func (j *Joined) outlived(session Session, lease time.Duration) (ids []ID) {
	s := j.sessions.find(session, len(j.parts), false)
	if s == nil {
		return nil
	}
	for _, p := range j.parts {
		if s.ranOut(p, lease) {
			ids = append(ids, j.located.claimed(p, session)...)
		}
	}
	return ids
}

// giveUp marks a job to be given up as soon as its store answers.
func (j *Joined) giveUp(session Session, id ID) {
	if s, p := j.sessions.find(session, len(j.parts), true), j.located.find(id); p != nil {
		s.giveUp(p, id)
	}
}

// ranOut reports whether the lease at a store has started, and may be over.
func (s *joinedSession) ranOut(p *part, lease time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := &s.at[p.index]
	return !at.until.IsZero() && at.over(time.Now(), lease)
}

func (s *joinedSession) giveUp(p *part, id ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[p.index].giveUp(id)
}

func (at *partSession) giveUp(id ID) {
	if at.drop == nil {
		at.drop = map[ID]bool{}
	}
	at.drop[id] = true
}

// Leave removes the worker from all stores. If a store does not answer, it holds the worker's jobs until the lease is over, and the error names it.
func (j *Joined) Leave(ctx context.Context, worker string, session Session) error {
	if err := j.enter(ctx, "leave"); err != nil {
		return err
	}
	j.sessions.forget(session)
	return allFailed(askAll(ctx, j, partCall, func(ctx context.Context, p *part) (struct{}, error) { return struct{}{}, p.Leave(ctx, worker, session) }))
}

// distinct sorts IDs and removes duplicates.
func distinct(ids []ID) []ID {
	slices.SortFunc(ids, func(a, b ID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(ids)
}
