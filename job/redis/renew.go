package redis

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/meanwhile-go/meanwhile/job"
)

// Bounds of what is sent with one run.
const (
	renewJobs  = 500
	renewStats = 200
	renewTrees = 32
)

// Renew extends the lease of a session, records that its worker is alive, and stores the rest of the report. Lists of more than a few hundred
// entries are sent in several runs, the last of which does the rest.
func (s *Store) Renew(ctx context.Context, r job.Renewal) (job.Renewed, error) {
	var renewed job.Renewed
	err := s.call(ctx, "renew leases", func(ctx context.Context) error {
		for len(r.Jobs) > renewJobs || len(r.Drop) > renewJobs || len(r.Stats) > renewStats || len(r.Trees) > renewTrees {
			part := job.Renewal{Worker: r.Worker, Session: r.Session, Run: r.Run, Info: job.WorkerInfo{Started: r.Info.Started}}
			part.Jobs, r.Jobs = cut(r.Jobs, renewJobs)
			part.Drop, r.Drop = cut(r.Drop, renewJobs)
			part.Stats, r.Stats = cut(r.Stats, renewStats)
			part.Trees, r.Trees = cut(r.Trees, renewTrees)
			if err := s.renew(ctx, "0", part, &renewed); err != nil {
				return err
			}
		}
		return s.renew(ctx, "1", r, &renewed)
	})
	if err != nil {
		return job.Renewed{}, err
	}
	return renewed, nil
}

// cut splits off up to n items of a list.
func cut[T any](list []T, n int) (part, rest []T) {
	n = min(n, len(list))
	return list[:n], list[n:]
}

// renew sends a part of a renewal, and adds its answer to renewed.
func (s *Store) renew(ctx context.Context, last string, r job.Renewal, renewed *job.Renewed) error {
	args, err := renewArgs(last, r)
	if err != nil {
		return err
	}
	got, err := s.run(ctx, renewScript, args...)
	if err != nil {
		return err
	}
	renewed.Lost = append(renewed.Lost, idsOf(texts(got[0]))...)
	if last != "1" {
		return nil
	}
	renewed.Canceled, renewed.Now, renewed.Watched = idsOf(texts(got[1])), timeOf(text(got[2])), idsOf(texts(got[3]))
	for _, order := range texts(got[4]) {
		left, text, _ := strings.Cut(order, "\n")
		if renewed.Now.Sub(timeOf(left)) >= job.CommandKept {
			continue
		}
		var o job.Command
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			return fmt.Errorf("command: %w", err)
		}
		renewed.Commands = append(renewed.Commands, o)
	}
	return nil
}

// renewArgs returns the arguments of lua/renew.lua.
func renewArgs(last string, r job.Renewal) ([]string, error) {
	info, err := json.Marshal(r.Info)
	if err != nil {
		return nil, err
	}
	args := []string{last, r.Worker, strconv.FormatInt(int64(r.Session), 10), span(r.Lease), string(info)}
	for _, ids := range [][]job.ID{r.Jobs, r.Drop} {
		args = append(args, strconv.Itoa(len(ids)))
		for _, id := range ids {
			args = append(args, idText(id))
		}
	}
	args = append(args, strconv.Itoa(len(r.Stats)))
	run := strconv.FormatInt(cmp.Or(r.Run, r.Info.Started).UnixMicro(), 10)
	for _, stat := range r.Stats {
		stat.Worker = r.Worker
		text, err := json.Marshal(stat)
		if err != nil {
			return nil, err
		}
		minute := strconv.FormatInt(stat.Minute.UnixMicro(), 10)
		field := strings.Join([]string{minute, run, r.Worker, stat.Queue, stat.Kind}, "\n")
		args = append(args, field, minute, strconv.FormatInt(stat.Total(), 10), string(text))
	}
	args = append(args, strconv.Itoa(len(r.Trees)))
	for _, t := range r.Trees {
		args = append(args, idText(t.Job), strconv.Itoa(t.Attempt), string(t.JSON))
	}
	return append(args, strconv.Itoa(job.MostWatched)), nil
}

// Leave removes the worker from the list of Workers, with the commands for it, and ends the session.
func (s *Store) Leave(ctx context.Context, worker string, session job.Session) error {
	return s.call(ctx, "remove worker "+worker, func(ctx context.Context) error {
		_, err := s.runOne(ctx, leaveScript, worker, strconv.FormatInt(int64(session), 10))
		return err
	})
}

// Workers returns the workers that have called Renew and not Leave, by name: all, or those of the given names.
func (s *Store) Workers(ctx context.Context, names ...string) ([]job.WorkerInfo, error) {
	var infos []job.WorkerInfo
	err := s.call(ctx, "list workers", func(ctx context.Context) error {
		c, err := s.connected(ctx)
		if err != nil {
			return err
		}
		rows, err := workerRows(ctx, c, s.prefix+"workers", names)
		if err != nil {
			return err
		}
		infos = nil
		for name, row := range rows {
			seen, text, _ := strings.Cut(row, "\n")
			var info job.WorkerInfo
			if err := json.Unmarshal([]byte(text), &info); err != nil {
				return fmt.Errorf("worker %s: %w", name, err)
			}
			info.Name, info.Seen = name, timeOf(seen)
			infos = append(infos, info)
		}
		slices.SortFunc(infos, func(a, b job.WorkerInfo) int { return cmp.Compare(a.Name, b.Name) })
		return nil
	})
	return infos, err
}

// workerRows reads the rows of all workers, or those of the given names.
func workerRows(ctx context.Context, c rueidis.Client, key string, names []string) (map[string]string, error) {
	if len(names) == 0 {
		return c.Do(ctx, c.B().Hgetall().Key(key).Build()).AsStrMap()
	}
	found, err := c.Do(ctx, c.B().Hmget().Key(key).Field(names...).Build()).ToArray()
	if err != nil {
		return nil, err
	}
	rows := make(map[string]string, len(names))
	for i, row := range found {
		if row.IsNil() {
			continue
		}
		if rows[names[i]], err = row.ToString(); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
