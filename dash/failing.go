package dash

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

const (
	// fewFailures is the number of failures from which on a kind may need attention.
	fewFailures = 5
	// A kind needs attention when a tenth of its attempts in five minutes fail, or half of its attempts in an hour, for kinds that run seldom.
	lateShare, hourShare = 10, 2
	// mostExamples is the number of kinds for which the error is read.
	mostExamples = 5
)

// A failing kind is a kind with many failed attempts.
type failing struct {
	Kind             string
	Failed, Attempts int64
	Within           string    // the period of these attempts
	Since            time.Time // start of the failures; zero if that is an hour ago or longer
	Error            string    // of its newest failed job
}

// Share is the percentage of failed attempts.
func (f *failing) Share() int64 { return f.Failed * 100 / f.Attempts }

// failing returns the kinds that need attention, by name, without their errors.
func (p *past) failing() []failing {
	kinds := map[string]bool{}
	for _, m := range p.minutes {
		for kind := range m.kinds {
			kinds[kind] = true
		}
	}
	var found []failing
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		lately, all := p.attempts(hour-6, hour-1, subject{kind: kind}), p.attempts(0, hour, subject{kind: kind})
		f := failing{Kind: kind}
		switch {
		case lately.fails(lateShare):
			f.Failed, f.Attempts, f.Within = lately.Failed, lately.Completed+lately.Failed, "five minutes"
		case all.fails(hourShare):
			f.Failed, f.Attempts, f.Within = all.Failed, all.Completed+all.Failed, "an hour"
		default:
			continue
		}
		f.Since = p.failingSince(kind)
		found = append(found, f)
	}
	return found
}

// fails reports whether at least one in of attempts has failed.
func (w *work) fails(of int64) bool {
	return w.Failed >= fewFailures && w.Failed*of >= w.Completed+w.Failed
}

// failingSince returns the first minute after a kind had few failures.
func (p *past) failingSince(kind string) (since time.Time) {
	for i := hour - 1; i >= 0; i-- {
		at, m := p.at(i)
		w := m.kinds[kind]
		switch {
		case w == nil || w.Completed+w.Failed == 0:
		case w.Failed*lateShare >= w.Completed+w.Failed:
			since = at
		default:
			return since
		}
	}
	if begin, _ := p.at(1); !since.After(begin) {
		return time.Time{}
	}
	return since
}

// examples fills in the errors of up to mostExamples kinds.
func (h *handler) examples(ctx context.Context, found []failing) error {
	for i := range found[:min(len(found), mostExamples)] {
		text, err := h.errors.get(found[i].Kind, func() (string, error) {
			jobs, err := h.Store.List(ctx, job.Filter{Kinds: []string{found[i].Kind}, States: []job.State{job.Retrying, job.Discarded}, Limit: 1})
			if err != nil || len(jobs) == 0 {
				return "", err
			}
			line, _, _ := strings.Cut(jobs[0].LastError(), "\n")
			return h.masker.Text(clip(line, 200)), nil
		})
		if err != nil {
			return err
		}
		found[i].Error = text
	}
	return nil
}
