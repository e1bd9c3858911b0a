package dash

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	mostWaitKinds = 20 // kinds of jobs
	mostKindWaits = 5  // waits of each
)

// A kindRow shows what the jobs of a kind spend their time on, in all workers together.
type kindRow struct {
	Kind  string
	Time  time.Duration
	Part  int // of the time of all kinds, in thousandths
	Waits []waitPart
}

// A waitPart is a wait with its percentage of the time of a kind.
type waitPart struct {
	Wait string
	Part int
}

// kindRows adds up the reports of all workers that are not gone.
func kindRows(workers []workerRow) []kindRow {
	times := make(map[string]map[string]time.Duration)
	byKind := make(map[string]time.Duration)
	var all time.Duration
	for _, w := range workers {
		if w.Gone {
			continue
		}
		for _, k := range w.Waits {
			all += k.Time
			byKind[k.Kind] += k.Time
			if times[k.Kind] == nil {
				times[k.Kind] = make(map[string]time.Duration)
			}
			for _, wait := range k.Waits {
				times[k.Kind][wait.Wait] += wait.Time
			}
		}
	}
	var rows []kindRow
	for kind, d := range byKind {
		row := kindRow{Kind: kind, Time: d, Part: part(d, all, 1000)}
		for wait, d := range times[kind] {
			if p := part(d, byKind[kind], 100); p > 0 {
				row.Waits = append(row.Waits, waitPart{wait, p})
			}
		}
		slices.SortFunc(row.Waits, func(a, b waitPart) int { return cmp.Or(cmp.Compare(b.Part, a.Part), strings.Compare(a.Wait, b.Wait)) })
		row.Waits = row.Waits[:min(mostKindWaits, len(row.Waits))]
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b kindRow) int { return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(a.Kind, b.Kind)) })
	return rows[:min(mostWaitKinds, len(rows))]
}

// part returns d as a part of whole, rounded: of stands for all of it.
func part(d, whole time.Duration, of float64) int {
	return int(math.Round(of * float64(d) / float64(max(1, whole))))
}
