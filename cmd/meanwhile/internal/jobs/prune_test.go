package jobs

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A partsStore returns the given results from Prune.
type partsStore struct {
	job.Store
	parts []job.Pruned
}

func (s *partsStore) Prune(context.Context, map[job.State]time.Duration, int) (job.Pruned, error) {
	part := s.parts[0]
	s.parts = s.parts[1:]
	return part, nil
}

// TestPruneReportsRepairs: repairs are reported, including those of the last batch, which deletes nothing.
func TestPruneReportsRepairs(t *testing.T) {
	first, last := job.LaneRepair{Queue: "q", Key: "a", Wrong: "x"}, job.LaneRepair{Queue: "q", Key: "b", Wrong: "y"}
	s := &partsStore{parts: []job.Pruned{{Deleted: 1000, Repaired: []job.LaneRepair{first}}, {Deleted: 2}, {Repaired: []job.LaneRepair{last}}}}
	var repaired []job.LaneRepair
	n, err := pruneAll(t.Context(), s, nil, func(r job.LaneRepair) { repaired = append(repaired, r) })
	if n != 1002 || err != nil || !reflect.DeepEqual(repaired, []job.LaneRepair{first, last}) {
		t.Errorf("pruned %d, %v, repaired %+v", n, err, repaired)
	}
}
