package redis

import (
	"context"
	"strconv"
	"sync"

	"github.com/meanwhile-go/meanwhile/job"
)

const (
	sweepOnce    = 100   // lanes, or jobs, that one run compares
	mostCounted  = 10000 // running jobs of a queue that one run counts by limit key
	sweepScripts = job.SweepSteps * job.SweepLanes / sweepOnce
)

// A sweep is the rest of a pass that compares lanes with their jobs.
type sweep struct {
	mu     sync.Mutex
	left   []sweepPart
	cursor string // position in left[0]
}

// A sweepPart is a sequence of runs with the same arguments, from cursor to cursor.
type sweepPart struct {
	script *script
	queue  string
	args   []string
	pages  bool // it may need more than one run
}

// sweepLanes compares the next lanes with their jobs, and repairs what differs.
func (s *Store) sweepLanes(ctx context.Context) (repaired []job.LaneRepair, err error) {
	s.swept.mu.Lock()
	defer s.swept.mu.Unlock()
	err = s.call(ctx, "compare limit keys with their jobs", func(ctx context.Context) error {
		if len(s.swept.left) == 0 {
			if err := s.beginSweep(ctx); err != nil {
				return err
			}
		}
		for range sweepScripts {
			if len(s.swept.left) == 0 {
				return nil
			}
			found, err := s.sweepOnce(ctx)
			if err != nil {
				return err
			}
			repaired = append(repaired, found...)
		}
		return nil
	})
	return repaired, err
}

// beginSweep lists the parts of a pass.
func (s *Store) beginSweep(ctx context.Context) error {
	rows, err := s.run(ctx, lanedScript)
	if err != nil {
		return err
	}
	s.swept.cursor = "0"
	for _, row := range rows {
		of := texts(row) // the queue, then kinds
		s.swept.left = append(s.swept.left, sweepPart{script: compareRunningScript, queue: of[0], args: []string{of[0], strconv.Itoa(mostCounted)}})
		for _, kind := range of[1:] {
			s.swept.left = append(s.swept.left, sweepPart{script: compareJobsScript, queue: of[0], args: []string{of[0], kind}, pages: true})
		}
		s.swept.left = append(s.swept.left, sweepPart{script: compareLanesScript, queue: of[0], args: of[:1:1], pages: true})
	}
	return nil
}

// sweepOnce runs one script.
func (s *Store) sweepOnce(ctx context.Context) (repaired []job.LaneRepair, err error) {
	part, next := s.swept.left[0], "0"
	args := part.args
	if part.pages {
		args = append(args[:len(args):len(args)], s.swept.cursor, strconv.Itoa(sweepOnce))
	}
	m, err := s.runOne(ctx, part.script, args...)
	if err != nil {
		return nil, err
	}
	found := texts(m)
	if part.pages {
		next, found = found[0], found[1:]
	}
	for i := 0; i+1 < len(found); i += 2 {
		repaired = append(repaired, job.LaneRepair{Queue: part.queue, Key: found[i], Wrong: found[i+1]})
	}
	if s.swept.cursor = next; next == "0" {
		s.swept.left = s.swept.left[1:]
	}
	return repaired, nil
}
