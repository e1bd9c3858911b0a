package job_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestOptionsOutOfBounds: the errors name the bound.
func TestOptionsOutOfBounds(t *testing.T) {
	var many []job.EnqueueOption
	for i := range 33 {
		many = append(many, job.Meta(fmt.Sprint(i), ""))
	}
	for want, opts := range map[string][]job.EnqueueOption{
		"33 entries of meta: give at most 32":                  many,
		"meta have 4097 bytes, at most 4096 are allowed":       {job.Meta("k", strings.Repeat("x", 4096))},
		"a key of meta is empty":                               {job.Meta("", "x")},
		`the key "a\nb" of meta is not UTF-8 or has a control`: {job.Meta("a\nb", "x")},
		`the value of "k" in meta is not UTF-8`:                {job.Meta("k", "\xff")},
		"a timeout of 0s: give a positive duration":            {job.Timeout(0)},
	} {
		if _, err := job.New("k", json.RawMessage("null"), opts...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q in it", err, want)
		}
	}
	if _, err := job.New("k", json.RawMessage("null"), append(many[:32:32], job.Meta("0", strings.Repeat("x", 4096-54)))...); err != nil {
		t.Errorf("within the bounds: %v", err)
	}
}

// TestMetaOfAKind: the Meta of a job is added to that of its kind, which does not change.
func TestMetaOfAKind(t *testing.T) {
	kind := job.Define[note]("k", job.Meta("team", "a"), job.Meta("tier", "1"))
	for range 2 {
		j, err := kind.New(note{}, job.Meta("team", "b"))
		if err != nil || fmt.Sprint(j.Meta) != "map[team:b tier:1]" {
			t.Errorf("meta %v, %v", j.Meta, err)
		}
		if j, err = kind.New(note{}); err != nil || fmt.Sprint(j.Meta) != "map[team:a tier:1]" {
			t.Errorf("meta %v, %v", j.Meta, err)
		}
	}
}

// TestTimeoutOfAJob: the timeout of a job replaces that of its kind.
func TestTimeoutOfAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, job.Config{}, job.HandleRaw("note", func(ctx context.Context, _ *job.Job) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, job.Timeout(10*time.Second)))
		short, long, plain := r.enqueue(job.MaxAttempts(1), job.Timeout(time.Second)), r.enqueue(job.MaxAttempts(1), job.Timeout(time.Minute)), r.enqueue(job.MaxAttempts(1))
		seconds(1.5)
		r.wantState(short, job.Discarded)
		r.wantState(plain, job.Running)
		seconds(10)
		r.wantState(plain, job.Discarded)
		r.wantState(long, job.Running)
		seconds(60)
		if j := r.wantState(long, job.Discarded); j.LastError() != job.ErrTimeout.Error() {
			t.Errorf("error %q", j.LastError())
		}
	})
}
