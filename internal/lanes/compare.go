package lanes

import (
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Right is what should be known of lanes, according to their jobs in the store.
type Right struct {
	claim *Claim
	lanes []job.Lane
	due   []Due
}

// Read reads what should be known of lanes.
func (c *Claim) Read(keys []string) (*Right, error) {
	c.lanes = map[string]job.Lane{}
	r := &Right{claim: c, lanes: make([]job.Lane, len(keys))}
	read := make([]*lane, len(keys))
	for i, key := range keys {
		read[i], r.lanes[i] = &lane{key: key}, job.Lane{Key: key}
	}
	var err error
	if r.due, err = c.due(read); err != nil {
		return nil, err
	}
	return r, c.complete(r.lanes)
}

// Compare adds to wrong, by key, how the lanes that q knows differ from r, unless the next claim checks them anyway. A lane that is wrongly known as
// open is not an error: a claim finds that out. All changes up to a moment after the lanes were read must have been applied to q.
func (r *Right) Compare(q *Queue, wrong map[string]string) {
	limits, at := r.claim.Queue.Limits, r.claim.At
	if q.searching || q.again != 0 || q.inOrder != limits.EachKey.InOrder {
		return
	}
	for i, l := range r.lanes {
		k := q.byKey[l.Key]
		if wrong[l.Key] != "" || q.isChanged[l.Key] || k != nil && k.wake != 0 && k.wake <= at.UnixMicro() {
			continue
		}
		kept, want := job.LaneHint{}, r.claim.hint(l, r.due[i])
		if k != nil {
			if kept.Priority = k.priority; k.wake != 0 {
				kept.Wake = time.UnixMicro(k.wake)
			}
		}
		if q.AtCapacity && !l.Open(limits, at) && !l.Next(limits, at).After(at) {
			want.Wake = time.Time{} // it is at capacity: when one of its jobs ends, the lane changes
		}
		if text := kept.Wrong(want); text != "" && !want.None && kept.Priority <= want.Priority {
			wrong[l.Key] = text
		}
	}
}
