package job

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"
)

// KindWaits reports what the jobs of a kind spent the last minute waiting for, in the process of one worker.
type KindWaits struct {
	Kind  string        `json:"kind"`
	Time  time.Duration `json:"time"`  // of all tasks of these jobs, added up
	Waits []WaitTime    `json:"waits"` // the longest first; the rest of Time is that of shorter ones
}

// A WaitTime is how long tasks waited for one thing at one place, named as in a line of a tree.
type WaitTime struct {
	Wait string        `json:"wait"`
	Time time.Duration `json:"time"`
}

const (
	waitsEvery    = 10 * time.Second // how often the wait profile is read
	mostWaitKinds = 10               // kinds that are reported, those with the most time
	mostKindWaits = 5                // waits of each kind
	mostWaitBytes = 120
)

// kindWaits caches what a worker reports about the waits of its jobs, since the worker reports it once a second.
type kindWaits struct {
	mu   sync.Mutex
	list []KindWaits
	read time.Time
}

func (k *kindWaits) latest(now time.Time, prefix string, kinds []string) []KindWaits {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.list) == 0 || now.Sub(k.read) >= waitsEvery {
		k.list, k.read = waitsByKind(inspect.Waits(), prefix, kinds), now
	}
	return k.list
}

// waitsByKind sums up a wait profile by the kinds of jobs, whose tasks have names that begin with prefix. Tasks that wait for
// others of their job are left out, as those others count.
func waitsByKind(p inspect.WaitProfile, prefix string, kinds []string) []KindWaits {
	byKind := make(map[string]map[string]time.Duration)
	for _, task := range p.Tasks {
		kind := kindOf(task.Name, prefix, kinds)
		if kind == "" {
			continue
		}
		for _, share := range task.Waits {
			switch share.Wait.For {
			case "task", "tasks", "stream", "limit", "full":
				continue
			}
			if byKind[kind] == nil {
				byKind[kind] = make(map[string]time.Duration)
			}
			byKind[kind][cut(share.Wait.String(), mostWaitBytes)] += share.Time
		}
	}
	var list []KindWaits
	for kind, waits := range byKind {
		k := KindWaits{Kind: kind}
		for wait, d := range waits {
			k.Time += d
			k.Waits = append(k.Waits, WaitTime{wait, d})
		}
		slices.SortFunc(k.Waits, func(a, b WaitTime) int { return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(a.Wait, b.Wait)) })
		k.Waits = k.Waits[:min(mostKindWaits, len(k.Waits))]
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b KindWaits) int { return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(a.Kind, b.Kind)) })
	return list[:min(mostWaitKinds, len(list))]
}

// kindOf returns the kind of job that a task with the name belongs to; "" for none. If several kinds match, the longest counts.
func kindOf(name, prefix string, kinds []string) (found string) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return ""
	}
	for _, kind := range kinds {
		if after, ok := strings.CutPrefix(rest, kind); ok && (after == "" || after[0] == '/') && len(kind) > len(found) {
			found = kind
		}
	}
	return found
}
