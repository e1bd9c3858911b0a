package job_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

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

// TestMetaTexts: the text of an entry stands in encoded options, after a brace or a comma, if and only if the Meta has the entry. It is tested with
// entries that can be read from any quotation mark of the options on, also where it ends a text or is a part of it.
func TestMetaTexts(t *testing.T) {
	texts := rapid.OneOf(rapid.StringMatching(`[a"\\,:{}\[\]]{1,3}`), rapid.SampledFrom([]string{`,"a`, `{"a`, `"a":"a"`, job.MetaID, `"jid`}), rapid.StringN(1, 5, -1))
	rapid.Check(t, func(t *rapid.T) {
		j := job.Job{Options: job.Options{Meta: rapid.MapOfN(texts, texts, 1, 4).Draw(t, "meta"), LimitKey: texts.Draw(t, "limit key"), Cost: rapid.IntRange(0, 2).Draw(t, "cost")}}
		options := string(j.EncodeOptions())
		entries := [][2]string{{texts.Draw(t, "key"), texts.Draw(t, "value")}}
		for key, value := range j.Meta {
			entries = append(entries, [2]string{key, value})
		}
		for i := range options {
			if options[i] != '"' {
				continue
			}
			d := json.NewDecoder(strings.NewReader("{" + options[i:]))
			_, _ = d.Token()
			key, _ := d.Token()
			value, _ := d.Token()
			if value, ok := value.(string); ok {
				entries = append(entries, [2]string{key.(string), value})
			}
		}
		for _, e := range entries {
			text := (&job.Filter{Meta: map[string]string{e[0]: e[1]}}).MetaTexts()[0]
			got := strings.Contains(options, "{"+text) || strings.Contains(options, ","+text)
			if value, ok := j.Meta[e[0]]; got != (ok && value == e[1]) {
				t.Fatalf("%s in %s: %v", text, options, got)
			}
		}
	})
}
