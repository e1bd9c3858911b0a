package job

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/trees"
)

const (
	mostTrees     = 16                     // per report; if more jobs are watched, they take turns
	lookEach      = 950 * time.Millisecond // a little less than the beat of a second, whose ticks jitter
	snapshotShare = 10                     // after a snapshot, none is taken for at least that many times its duration
	mostTreeText  = 1 << 10                // bytes of a name, path or place in a tree
)

// A lookout takes the trees of jobs that somebody watches. Only the renew loop uses it.
type lookout struct {
	reported map[ID]time.Time // the watched jobs, and when a tree of each was last reported
	next     time.Time        // no snapshot before that
}

// watch records which jobs are watched now, and reports whether one is new.
func (l *lookout) watch(ids []ID) (fresh bool) {
	if len(ids) == 0 {
		l.reported = nil
		return false
	}
	watched := make(map[ID]time.Time, len(ids))
	for _, id := range ids {
		reported, before := l.reported[id]
		watched[id] = reported
		fresh = fresh || !before
	}
	l.reported = watched
	return fresh
}

// trees returns the trees of watched jobs, at most once a second. It takes no snapshot while nobody watches.
func (r *run) trees(now time.Time) []Tree {
	l := &r.lookout
	if len(l.reported) == 0 || now.Before(l.next) {
		return nil
	}
	var jobs []*Job
	for id := range l.reported {
		if e := r.holding(id); e != nil {
			jobs = append(jobs, e.job)
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	slices.SortFunc(jobs, func(a, b *Job) int { return l.reported[a.ID].Compare(l.reported[b.ID]) })
	jobs = jobs[:min(len(jobs), mostTrees)]
	begun := time.Now()
	scopes := scopesOf(inspect.Tree(r.ctx), jobs)
	l.next = begun.Add(max(lookEach, snapshotShare*time.Since(begun)))
	var all []Tree
	for _, j := range jobs {
		l.reported[j.ID] = begun
		if n := scopes[j.ID]; n != nil {
			all = append(all, Tree{Job: j.ID, Attempt: j.Attempt, JSON: treeJSON(*n)})
		}
	}
	return all
}

// scopeName is the name of the scope in which a job's handler runs.
func scopeName(j *Job) string { return j.Kind + " " + j.ID.String() }

// scopesOf finds the scopes of jobs in the tree of their worker. A job whose handler does not run yet, or any more, has none. If a handler uses the
// name of a job for a scope of its own, that is deeper in the tree: the shorter path counts.
func scopesOf(worker inspect.Node, jobs []*Job) map[ID]*inspect.Node {
	named := make(map[string]ID, len(jobs))
	for _, j := range jobs {
		named[scopeName(j)] = j.ID
	}
	found := make(map[ID]*inspect.Node, len(jobs))
	for n := range trees.Tasks([]inspect.Node{worker}) {
		if id, ok := named[n.Name]; ok && (found[id] == nil || len(n.Path) < len(found[id].Path)) {
			found[id] = n
		}
	}
	return found
}

// treeJSON writes a tree with as many tasks as fit into MaxTree, the shallow ones first.
func treeJSON(n inspect.Node) []byte {
	one := []inspect.Node{n}
	most := min(trees.Count(one), MaxTree/100)
	for {
		kept := trees.Prune(one, most)
		for t := range trees.Tasks(kept) {
			for _, text := range []*string{&t.Name, &t.Path, &t.Wait.On, &t.Wait.Call, &t.Wait.Func, &t.Wait.File} {
				*text = cut(*text, mostTreeText)
			}
		}
		text, err := json.Marshal(kept[0])
		if err != nil {
			panic("job: a tree as JSON: " + err.Error()) // it has strings and numbers only
		}
		if len(text) <= MaxTree || most == 1 {
			return text
		}
		most = max(1, min(most-1, cmp.Or(most*MaxTree/len(text), 1)))
	}
}
