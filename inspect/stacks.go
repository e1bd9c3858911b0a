package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A runner is what a goroutine's label set identifies: a task, or a call of Blocking.
type runner struct {
	kind    beginning
	n       *scope.Node // nil for a call of Blocking
	labels  *goroutine.Set
	started bool              // it had begun before the stacks were read
	outer   goroutine.Address // of a scope: the label set that its goroutine has outside
	path    string
	stack   *stack // nil when it was not found
	twice   bool   // two goroutines were found
	others  bool   // there are goroutines with the label set that do not run it
}

// runners are the tasks and calls of a snapshot by their label sets.
type runners struct {
	bySet map[goroutine.Address]*runner
	spare []runner // to be used
}

func newRunners(count int) runners {
	return runners{bySet: make(map[goroutine.Address]*runner, count)}
}

func (r *runners) add(set *goroutine.Set, one runner) {
	if len(r.spare) == 0 {
		r.spare = make([]runner, 256)
	}
	added := &r.spare[0]
	r.spare = r.spare[1:]
	*added = one
	added.labels = set
	r.bySet[set.Address()] = added
}

// count returns how many there are in each group.
func (r *runners) count() map[groupKey]int {
	counts := make(map[groupKey]int)
	for _, one := range r.bySet {
		counts[groupKey{scope.NamePath(one.labels.Labels()), one.kind}]++
	}
	return counts
}

// stackOf returns what the goroutine of a task does; nil where that is not known.
func (r *runners) stackOf(set *goroutine.Set) *stack { return r.bySet[set.Address()].stack }

// pathOf returns the path of the task with a label set.
func (r *runners) pathOf(set goroutine.Address) string {
	if found := r.bySet[set]; found != nil {
		return found.path
	}
	return ""
}

// stacks are what the goroutines of tasks did at one moment.
type stacks struct {
	waits   map[waiterKey]bool // what goroutines do that a task started by a go statement
	dialing bool               // some goroutine makes a connection of net/http
}

// A stack is the part of a goroutine's that belongs to one task: from where it is, or from where the scope inside begins,
// to where the task begins. The innermost call is the first.
type stack struct {
	calls []*location
	inner goroutine.Address // the scope inside; the zero value for none
}

// takeStacks reads the stacks of the given runners. The caller holds the mutex of places.
//
// A goroutine has a task's label set when it runs the task, and also when it was started from there by a plain go
// statement. It is the task's where its stack shows that this package called the task's function; where that part of a
// deep stack is cut off, it is no task's.
func takeStacks(r *runners) stacks {
	s := stacks{waits: make(map[waiterKey]bool)}
	goroutine.Snapshot(func(records []goroutine.Record) {
		room := make([]stack, 0, len(r.bySet)) // one for all of them: they are let go of together
		for _, record := range records {
			calls := placesAt(record.Stack)
			s.dialing = s.dialing || dials(calls)
			if one := r.bySet[record.Set]; one != nil {
				room = s.add(r, one, record.Set, calls, room)
			}
		}
	})
	return s
}

// dials reports whether a goroutine makes a connection of net/http.
func dials(calls []*location) bool {
	return slices.ContainsFunc(calls, func(p *location) bool { return p.dials })
}

// placesAt returns the places of a stack. The caller holds the mutex of places.
func placesAt(pcs []uintptr) []*location {
	calls := make([]*location, len(pcs))
	for i, pc := range pcs {
		calls[i] = at(pc)
	}
	return calls
}

// add takes the stack of a goroutine with the given label set apart: the scopes that run in it are inside each other.
func (s *stacks) add(r *runners, one *runner, set goroutine.Address, calls []*location, room []stack) []stack {
	begin, inner := 0, goroutine.Address{}
	for i, p := range calls {
		if p.begins == beginsNone {
			continue
		}
		if one == nil {
			return room
		}
		if one.kind != p.begins {
			break
		}
		switch {
		case one.twice:
		case one.stack != nil:
			one.stack, one.twice = nil, true
		default:
			room = append(room, stack{calls[begin:i:i], inner})
			one.stack = &room[len(room)-1]
		}
		if one.kind != beginsScope {
			return room
		}
		begin, inner, set = i+1, set, one.outer
		one = r.bySet[set]
	}
	if one != nil {
		one.others = true
	}
	if reason := ourReason(calls); reason != "" {
		s.waits[waiterKey{set, waiterFor(reason)}] = true
	}
	return room
}

// A waiterKey is a kind of wait inside this package, of goroutines with one label set.
type waiterKey struct {
	set goroutine.Address
	scope.WaiterKind
}

// waiterFor is the type of the waiter with which a task waits for a reason.
func waiterFor(reason string) scope.WaiterKind {
	switch reason {
	case "sleep", "rate", "retry":
		return scope.ForTime
	case "task":
		return scope.ForEnd
	case "semaphore", "blocking", "limit":
		return scope.ForSemaphore
	}
	return scope.NoWaiter
}

// A beginning says what begins with a call of a function of this package.
type beginning uint8

const (
	beginsNone beginning = iota
	beginsTask
	beginsScope
	beginsItem
	beginsSource // of a stream
	beginsBlocking
)

// beginnings are the functions that run a task, with its labels in place.
var beginnings = map[string]beginning{
	"meanwhile.(*goTask).call":    beginsTask,
	"meanwhile.(*asyncTask).call": beginsTask,
	"scope.(*Node).End":           beginsTask,
	"scope.(*Scope).call":         beginsScope,
	"meanwhile.(*worker).apply":   beginsItem,
	"meanwhile.(*flow).pump":      beginsSource,
	"meanwhile.callBlocking":      beginsBlocking,
}

func beginningOf(k scope.Kind) beginning {
	switch k {
	case scope.KindTask:
		return beginsTask
	case scope.KindItem:
		return beginsItem
	case scope.KindStream:
		return beginsSource
	}
	return beginsScope
}

// A group is what the goroutines of the tasks with one name path do, as runtime/pprof groups them.
type group struct {
	waits map[Wait]int
	total int
}

// A groupKey tells groups from each other.
type groupKey struct {
	path string
	kind beginning
}

// takeGroups reads the profile of all goroutines by the public API, which tells names and not addresses. The caller holds
// the mutex of places.
func takeGroups() map[groupKey]*group {
	samples, err := goroutineProfile()
	if err != nil {
		return nil
	}
	groups := make(map[groupKey]*group)
	dialing := slices.ContainsFunc(samples, func(s sample) bool { return dials(s.calls) })
	for _, s := range samples {
		i := slices.IndexFunc(s.calls, func(p *location) bool { return p.begins != beginsNone })
		path := s.labels[scope.TaskLabel]
		if i < 0 || path == "" {
			continue
		}
		key := groupKey{path: path, kind: s.calls[i].begins}
		g := groups[key]
		if g == nil {
			g = &group{waits: make(map[Wait]int)}
			groups[key] = g
		}
		w := waitOf(s.calls[:i])
		w.narrow(dialing)
		g.waits[w] += int(s.count)
		g.total += int(s.count)
	}
	return groups
}

// wait describes a task by its group, which is of so many tasks: what it waits for is known when all of them wait at one
// place.
func (g *group) wait(tasks int) Wait {
	if len(g.waits) == 1 && g.total == tasks {
		for w := range g.waits {
			return w
		}
	}
	byReason := make(map[string]int)
	for w, count := range g.waits {
		byReason[strings.TrimSpace(w.For+" "+w.On)] += count
	}
	reasons := slices.SortedFunc(maps.Keys(byReason), func(a, b string) int {
		return cmp.Or(byReason[b]-byReason[a], strings.Compare(a, b))
	})
	text := fmt.Sprintf("one of %d of this name:", tasks)
	for i, reason := range reasons {
		if i == maxReasons {
			text += " …"
			break
		}
		text += fmt.Sprintf(" %d %s,", byReason[reason], reason)
	}
	return Wait{For: "unknown", On: strings.TrimSuffix(text, ",")}
}

// maxReasons is how many of the waits of a group are named.
const maxReasons = 4
