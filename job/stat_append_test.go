package job_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestAppendStatLaw: a row is read as it was written, with whatever names.
func TestAppendStatLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := func(name string) int64 { return rapid.Int64Min(0).Draw(t, name) }
		want := job.Stat{
			Minute: time.Unix(rapid.Int64Range(0, 1e10).Draw(t, "minute"), 0).UTC(), Span: time.Duration(rapid.Int64().Draw(t, "span")),
			Worker: rapid.String().Draw(t, "worker"), Queue: rapid.StringMatching(`[ -~]*`).Draw(t, "queue"), Kind: rapid.StringMatching(`[a-z.]*`).Draw(t, "kind"),
			Completed: count("completed"), Retried: count("retried"), Snoozed: count("snoozed"), Canceled: count("canceled"), Discarded: count("discarded"),
			Queued: count("queued"), Running: count("running"),
			Wait: histogramOf(rapid.SliceOf(durations).Draw(t, "waits")), Run: histogramOf(rapid.SliceOf(durations).Draw(t, "runs")),
		}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := job.AppendStat([]job.Stat{{Worker: "before"}}, string(text))
		if err != nil || len(got) != 2 || got[0].Worker != "before" || got[1] != want {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
	})
}

// FuzzAppendStat compares with json.Unmarshal.
func FuzzAppendStat(f *testing.F) {
	for _, text := range []string{
		`{"minute":"2026-01-31T15:04:00Z","worker":"w","queue":"q","kind":"k","completed":6,"retried":1,"snoozed":0,"canceled":0,"discarded":1,"wait":[17,1,0,2],"run":[]}`,
		`{"minute":"2026-01-31T15:00:00+01:00","span":1800000000000,"queued":3,"running":2}`, `{"queue":"\u0041","kind":"ä"}`, `{"completed":01}`,
		`{"completed":-1}`, `{"completed":9223372036854775808}`, `{"completed":1.5}`, `{"completed":null}`, `{"Completed":1}`, `{"other":[1]}`,
		`{"wait":[62,1]}`, `{"wait":[0,1,]}`, `{"wait":[0,1],"wait":[1]}`, `{"minute":"2026-01-31T15:04:00,5Z"}`, `{"minute":"2026-1-31T15:04:00Z"}`,
		`{}`, `}`, `{,}`, `{"queue":"q",}`, `[]`, `null`, `{"queue":"q"}x`, ` {}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want job.Stat
		rows, err := job.AppendStat(nil, text)
		wrong := json.Unmarshal([]byte(text), &want)
		if (err == nil) != (wrong == nil) {
			t.Fatalf("%s: %v, and json.Unmarshal says %v", text, err, wrong)
		}
		if err != nil {
			return
		}
		got := rows[0]
		same := got.Minute.Equal(want.Minute)
		got.Minute, want.Minute = time.Time{}, time.Time{}
		if !same || got != want {
			t.Errorf("%s is read as %+v, and by json.Unmarshal as %+v", text, got, want)
		}
	})
}
