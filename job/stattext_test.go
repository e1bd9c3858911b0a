package job_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/job"
)

var stats = rapid.Custom(func(t *rapid.T) job.Stat {
	name := rapid.OneOf(rapid.StringMatching("[a-z]{0,5}"), rapid.String())
	n := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64())
	s := job.Stat{
		Minute: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "minute"), rapid.SampledFrom([]int64{0, 5000}).Draw(t, "part")).UTC(),
		Span:   rapid.SampledFrom([]time.Duration{0, job.StatsSpan}).Draw(t, "span"),
		Worker: name.Draw(t, "worker"), Queue: name.Draw(t, "queue"), Kind: name.Draw(t, "kind"),
		Completed: n.Draw(t, "completed"), Retried: n.Draw(t, "retried"), Snoozed: n.Draw(t, "snoozed"), Canceled: n.Draw(t, "canceled"),
		Discarded: n.Draw(t, "discarded"), Queued: n.Draw(t, "queued"), Running: n.Draw(t, "running"),
	}
	s.Wait, s.Run = histogramOf(rapid.SliceOf(durations).Draw(t, "wait")), histogramOf(rapid.SliceOf(durations).Draw(t, "run"))
	return s
})

func TestReadStatsLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := stats.Draw(t, "stat")
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var read job.Stat
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if got, err := job.ReadStats(string(text)); err != nil || len(got) != 1 || got[0] != read {
			t.Errorf("%s was read as %v, %v, want %v", text, got, err, read)
		}
	})
}

// TestReadStatsAllocatesLittle: a thousand rows in one text allocate the rows, and each new name once, and copy neither.
func TestReadStatsAllocatesLittle(t *testing.T) {
	var want []job.Stat
	var texts []string
	for i := range 1000 {
		s := job.Stat{Minute: time.Date(2026, 1, 31, 15, i/100, 0, 0, time.UTC), Worker: "host-1", Queue: "mail", Kind: fmt.Sprint("kind-", i%10), Completed: int64(i)}
		s.Wait.Add(time.Duration(i) * time.Millisecond)
		s.Run.Add(time.Duration(i) * time.Second)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		want, texts = append(want, s), append(texts, string(text))
	}
	text := strings.Join(texts, "\n")
	if n := testing.AllocsPerRun(100, func() {
		if got, err := job.ReadStats(text); err != nil || !slices.Equal(got, want) {
			t.Fatal(got, err)
		}
	}); n > 60 {
		t.Errorf("got %v allocations, want at most 60", n)
	}
}

func FuzzReadStats(f *testing.F) {
	for _, text := range []string{
		`{"minute":"2026-01-31T15:04:00Z","worker":"w","queue":"q","kind":"k","completed":1,"retried":0,"snoozed":0,"canceled":0,"discarded":0,"wait":[17,3,0,5],"run":[]}`,
		`{"span":1800000000000,"wait":[61,1],"wait":[1]}`, `{"completed":01}`, `{"completed":-1}`, `{"completed":1e3}`, `{"completed":123456789012345678901}`,
		`{"queue":"\u0041"}`, `{"queue":"é"}`, `{"Queue":"q"}`, `{"run":[62,1]}`, `{"run":[1,]}`, `{"run":[,1]}`, `{"minute":"2026-01-31T5:04:00Z"}`, `{}`, `{,}`, `{"kind":"k"`,
		`{"kind":"k"} `, `{"kind":"k"}}`, `{"other":1}`, `{"wait":null}`, `{"queued":999999999999999999,"running":1000000000000000000}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\n") {
			return // between rows
		}
		var want job.Stat
		wrong := json.Unmarshal([]byte(text), &want)
		got, err := job.ReadStats(text)
		if err == nil && got[0].Minute.Equal(want.Minute) {
			got[0].Minute = want.Minute // time zones of one offset differ
		}
		if (err == nil) != (wrong == nil) || err == nil && got[0] != want {
			t.Errorf("%s was read as %v, %v, and by encoding/json as %v, %v", text, got, err, want, wrong)
		}
	})
}
