package jobtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
)

// AssertEnqueued finds a job of a kind, in any state, whose args match, and fails the test if there is none. A nil match accepts
// any args. It returns the newest job that matches, or nil.
func AssertEnqueued[T any](t testing.TB, store job.Store, kind *job.Kind[T], match func(args T) bool) *job.Job {
	t.Helper()
	j, problem := find(t, store, kind, match)
	if problem != "" {
		t.Error(problem)
	}
	return j
}

// RequireEnqueued is [AssertEnqueued], and ends the test if there is no such job.
func RequireEnqueued[T any](t testing.TB, store job.Store, kind *job.Kind[T], match func(args T) bool) *job.Job {
	t.Helper()
	j, problem := find(t, store, kind, match)
	if problem != "" {
		t.Fatal(problem)
	}
	return j
}

// shown is how many jobs the failure shows when none matches.
const shown = 5

func find[T any](t testing.TB, store job.Store, kind *job.Kind[T], match func(args T) bool) (found *job.Job, problem string) {
	var others []string
	n := 0
	for j, err := range job.List(t.Context(), store, job.Filter{Kinds: []string{kind.Name()}}) {
		if err != nil {
			return nil, fmt.Sprintf("look for a job of kind %q: %v", kind.Name(), err)
		}
		args, err := kind.Args(j)
		if err == nil && (match == nil || match(args)) {
			return j, ""
		}
		if n++; n <= shown {
			others = append(others, fmt.Sprintf("\n\t%s %s", j.State, j.Args))
		}
	}
	if n == 0 {
		return nil, fmt.Sprintf("no job of kind %q was enqueued", kind.Name())
	}
	if n > shown {
		others = append(others, fmt.Sprintf("\n\tand %d more", n-shown))
	}
	return nil, fmt.Sprintf("no job of kind %q was enqueued whose args match; there are:%s", kind.Name(), strings.Join(others, ""))
}
