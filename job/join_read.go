package job

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Counts adds up the counts of the stores that answer.
func (j *Joined) Counts(ctx context.Context) ([]Count, error) {
	type key struct {
		queue, kind string
		state       State
	}
	answers, err := readAll(ctx, j, "count jobs", func(ctx context.Context, p *part) ([]Count, error) { return p.Counts(ctx) })
	sums, order := map[key]int64{}, []key(nil)
	for _, c := range answers {
		k := key{c.Queue, c.Kind, c.State}
		if _, known := sums[k]; !known {
			order = append(order, k)
		}
		sums[k] += c.N
	}
	counts := make([]Count, len(order))
	for i, k := range order {
		counts[i] = Count{Queue: k.queue, Kind: k.kind, State: k.state, N: sums[k]}
	}
	return counts, err
}

// readAll returns the results of all stores that answer, one after the other. It fails if none answers.
func readAll[T any](ctx context.Context, j *Joined, what string, read func(ctx context.Context, p *part) ([]T, error)) (all []T, err error) {
	if err := j.enter(ctx, what); err != nil {
		return nil, err
	}
	answers := askAll(ctx, j, 0, read)
	for _, a := range answers {
		all = append(all, a.got...)
	}
	return all, readAnswered(ctx, answers)
}

// Queues adds up the queues of the stores that answer. A queue is paused if it is paused at any of them; its wait is the longest.
func (j *Joined) Queues(ctx context.Context) ([]QueueInfo, error) {
	all, err := readAll(ctx, j, "list queues", func(ctx context.Context, p *part) ([]QueueInfo, error) { return p.Queues(ctx) })
	return mergeNamed(all, func(q QueueInfo) string { return q.Name }, func(a, b QueueInfo) QueueInfo {
		return QueueInfo{Name: a.Name, Paused: a.Paused || b.Paused, Queued: a.Queued + b.Queued, Running: a.Running + b.Running, Wait: max(a.Wait, b.Wait)}
	}), err
}

// mergeNamed sorts by name, and merges those with the same name.
func mergeNamed[T any](all []T, name func(T) string, merge func(a, b T) T) []T {
	slices.SortStableFunc(all, func(a, b T) int { return strings.Compare(name(a), name(b)) })
	var merged []T
	for _, one := range all {
		if n := len(merged); n > 0 && name(merged[n-1]) == name(one) {
			merged[n-1] = merge(merged[n-1], one)
		} else {
			merged = append(merged, one)
		}
	}
	return merged
}

// Workers returns the workers of the stores that answer. If several stores list one, the newest report counts.
func (j *Joined) Workers(ctx context.Context, names ...string) ([]WorkerInfo, error) {
	all, err := readAll(ctx, j, "list workers", func(ctx context.Context, p *part) ([]WorkerInfo, error) { return p.Workers(ctx, names...) })
	return mergeNamed(all, func(w WorkerInfo) string { return w.Name }, func(a, b WorkerInfo) WorkerInfo {
		if b.Seen.After(a.Seen) {
			return b
		}
		return a
	}), err
}

// Stats returns the matching rows of the stores that answer. Several stores may have rows of the same worker, minute, queue and kind, if the store
// that usually keeps them did not answer for a while; then those of the store that counted most are returned. Rows with a Span, older than two hours,
// were added up by each store for all workers: there, a minute that two stores have counts twice.
func (j *Joined) Stats(ctx context.Context, f StatsFilter) ([]Stat, error) {
	type key struct {
		minute              time.Time
		worker, queue, kind string
	}
	if err := j.enter(ctx, "read stats"); err != nil {
		return nil, err
	}
	answers := askAll(ctx, j, 0, func(ctx context.Context, p *part) ([]Stat, error) { return p.Stats(ctx, f) })
	best, most := map[key][]Stat{}, map[key]int64{}
	var past []Stat // for all workers, added up by each store
	for _, a := range answers {
		rows, total := map[key][]Stat{}, map[key]int64{}
		for _, row := range a.got {
			if row.Span > 0 {
				past = append(past, row)
				continue
			}
			k := key{row.Minute.UTC(), row.Worker, row.Queue, row.Kind}
			rows[k] = append(rows[k], row)
			total[k] += row.Total()
		}
		for k, of := range rows {
			if best[k] == nil || total[k] > most[k] {
				best[k], most[k] = of, total[k]
			}
		}
	}
	stats := MergeStats(past...)
	for _, of := range best {
		stats = append(stats, of...)
	}
	slices.SortFunc(stats, func(a, b Stat) int { return a.Minute.Compare(b.Minute) })
	return stats, readAnswered(ctx, answers)
}

// Prune deletes the oldest jobs of one store after the other until it has deleted enough, and starts with another store each time.
func (j *Joined) Prune(ctx context.Context, retention map[State]time.Duration, limit int) (Pruned, error) {
	if err := j.enter(ctx, "prune"); err != nil {
		return Pruned{}, err
	}
	start := int(j.turn.Add(1) % uint64(len(j.parts)))
	var answers []answer[Pruned]
	var pruned Pruned
	for k := range j.parts {
		p := j.parts[(start+k)%len(j.parts)]
		a := ask(ctx, j, p, 0, func(ctx context.Context, p *part) (Pruned, error) {
			return p.Prune(ctx, retention, limit-pruned.Deleted)
		})
		answers = append(answers, a)
		pruned.Repaired = append(pruned.Repaired, a.got.Repaired...)
		if pruned.Deleted += a.got.Deleted; pruned.Deleted >= limit && limit > 0 {
			break
		}
	}
	return pruned, noneAnswered(ctx, answers)
}
