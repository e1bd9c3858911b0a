package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// Renew sets the leases of a worker's jobs, and notes it as alive and what else it tells.
func (s *Store) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	now, err := s.enter(ctx, "renew leases")
	if err != nil {
		return job.Renewed{}, err
	}
	defer s.mu.Unlock()
	var renewed job.Renewed
	for _, id := range r.Jobs {
		e := s.jobs[id]
		if e == nil || e.State != job.Running || e.Worker != r.Worker {
			renewed.Lost = append(renewed.Lost, id)
			continue
		}
		e.heap.remove(e)
		e.lease = now.Add(r.Lease)
		s.queue(e.Queue).running.push(e)
	}
	for id, e := range s.canceled {
		if e.Worker == r.Worker {
			renewed.Canceled = append(renewed.Canceled, id)
		}
	}
	info := copyWorker(r.Info)
	info.Name, info.Seen = r.Worker, now
	s.workers[r.Worker] = info
	s.keepStats(r)
	s.keepTrees(r.Worker, r.Trees, now)
	renewed.Now, renewed.Watched, renewed.Orders = now, s.watched(r.Worker, now), s.takeOrders(r.Worker, now)
	return renewed, nil
}

// Leave removes the worker from the list of Workers, with the orders for it.
func (s *Store) Leave(ctx context.Context, worker string) error {
	if _, err := s.enter(ctx, "remove worker "+worker); err != nil {
		return err
	}
	defer s.mu.Unlock()
	delete(s.workers, worker)
	delete(s.orders, worker)
	return nil
}

// Workers returns the workers that have called Renew and not Leave, by name.
func (s *Store) Workers(ctx context.Context) ([]job.WorkerInfo, error) {
	if _, err := s.enter(ctx, "list workers"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	infos := slices.SortedFunc(maps.Values(s.workers), func(a, b job.WorkerInfo) int { return cmp.Compare(a.Name, b.Name) })
	for i := range infos {
		infos[i] = copyWorker(infos[i])
	}
	return infos, nil
}

func copyWorker(info job.WorkerInfo) job.WorkerInfo {
	info.Queues, info.Kinds = slices.Clone(info.Queues), slices.Clone(info.Kinds)
	info.Crons = slices.Clone(info.Crons)
	info.Waits = slices.Clone(info.Waits)
	for i := range info.Waits {
		info.Waits[i].Waits = slices.Clone(info.Waits[i].Waits)
	}
	return info
}
