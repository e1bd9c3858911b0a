package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// Renew extends the lease of a session, records that its worker is alive, and stores the rest of its report.
func (s *Store) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	now, err := s.enter(ctx, "renew leases")
	if err != nil {
		return job.Renewed{}, err
	}
	defer s.mu.Unlock()
	var renewed job.Renewed
	s.renew(r.Session, now.Add(r.Lease))
	holds := func(id job.ID) *entry {
		if e := s.jobs[id]; e != nil && e.State == job.Running && e.session == r.Session {
			return e
		}
		return nil
	}
	for _, id := range r.Drop {
		if e := holds(id); e != nil {
			e.session = 0
		}
	}
	for _, id := range r.Jobs {
		if holds(id) == nil {
			renewed.Lost = append(renewed.Lost, id)
		}
	}
	for id, e := range s.canceled {
		if e.session == r.Session {
			renewed.Canceled = append(renewed.Canceled, id)
		}
	}
	info := copyWorker(r.Info)
	info.Name, info.Seen = r.Worker, now
	s.workers[r.Worker] = info
	s.keepStats(r)
	s.keepTrees(r.Session, r.Trees, now)
	renewed.Now, renewed.Watched, renewed.Commands = now, s.watched(r.Session, now), s.takeCommands(r.Worker, now)
	return renewed, nil
}

// Leave removes the worker from the list of Workers, with the commands for it, and ends the session.
func (s *Store) Leave(ctx context.Context, worker string, session job.Session) error {
	if _, err := s.enter(ctx, "remove worker "+worker); err != nil {
		return err
	}
	defer s.mu.Unlock()
	delete(s.workers, worker)
	delete(s.commands, worker)
	delete(s.sessions, session)
	return nil
}

// Workers returns the workers that have called Renew and not Leave, by name: all, or those of the given names.
func (s *Store) Workers(ctx context.Context, names ...string) ([]job.WorkerInfo, error) {
	if _, err := s.enter(ctx, "list workers"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var infos []job.WorkerInfo
	for name, info := range s.workers {
		if len(names) == 0 || slices.Contains(names, name) {
			infos = append(infos, copyWorker(info))
		}
	}
	slices.SortFunc(infos, func(a, b job.WorkerInfo) int { return cmp.Compare(a.Name, b.Name) })
	return infos, nil
}

func copyWorker(info job.WorkerInfo) job.WorkerInfo {
	info.Queues, info.Kinds = slices.Clone(info.Queues), slices.Clone(info.Kinds)
	info.Crons, info.Labels = slices.Clone(info.Crons), slices.Clone(info.Labels)
	info.Waits = slices.Clone(info.Waits)
	for i := range info.Waits {
		info.Waits[i].Waits = slices.Clone(info.Waits[i].Waits)
	}
	return info
}
