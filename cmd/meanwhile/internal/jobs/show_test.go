package jobs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/meanwhile-go/meanwhile/job"
)

// nasty is a text that would affect a terminal.
const nasty = "\x1b[2Jx\r\x07\u009b\u202e\x7f"

func nastyJob(now time.Time) *job.Job {
	return &job.Job{
		Kind: "kind" + nasty, Queue: "queue" + nasty, Args: json.RawMessage(`{"a":"\u001b` + "\u009b" + `"}`), State: job.Running, Priority: 5,
		Attempt: 3, Uncounted: 1, Crashed: 1, MaxAttempts: 20, UniqueKey: nasty, UniqueFor: time.Hour,
		Options: job.Options{Timeout: 90 * time.Second, Meta: map[string]string{"tenant": "7", nasty: nasty}},
		Created: now.Add(-time.Hour), RunAt: now.Add(-time.Minute), Started: now.Add(-time.Second), Worker: nasty,
		Detail: job.Detail{
			Failures: []job.Failure{{
				Attempt: 1, Started: now.Add(-3 * time.Minute), Time: now.Add(-2 * time.Minute), Worker: nasty, Error: "one\ntwo" + nasty,
				Stack: "goroutine 7 [running]:\nruntime/debug.Stack()\n\tstack.go:26\npanic({...})\n\tpanic.go:783\n" + strings.Repeat("main.f()\n\tmain.go:1"+nasty+"\n", 10),
			}},
			Records:  []job.Record{{Attempt: 1, Time: now, Level: "INFO", Message: "said" + nasty, Attrs: "a=" + nasty}},
			Progress: &job.ProgressReport{Done: 1500, Total: 3000, Time: now.Add(-time.Second)},
			Result:   json.RawMessage(`{"b":"` + "\u009b\u202e" + `"}`),
		},
	}
}

func TestDescribe(t *testing.T) {
	now := time.Now()
	text := describe(shownJob{Job: nastyJob(now)}, now, false)
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Fatalf("%q is in the text", r)
		}
	}
	for _, want := range []string{
		"attempts   2 of 20; 1 uncounted; the process crashed 1 time", "progress   1,500 of 3,000 (50%), 1s ago", "attempt 1 failed after 1m00s, on ",
		"\n      one\n      two?[2Jx", "\n      main.f()\n", "\n      … and 12 more lines (--stacks)\n", "attempt 3 runs, for 1.0s", "  INFO  said",
		"\nResult\n  {\n    \"b\":",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the text:\n%s", want, text)
		}
	}
	if strings.Contains(text, "debug.Stack") {
		t.Errorf("the frames of the panic are shown:\n%s", text)
	}
	if whole := describe(shownJob{Job: nastyJob(now)}, now, true); !strings.Contains(whole, "debug.Stack") || strings.Contains(whole, "more lines") {
		t.Errorf("with --stacks the stack is folded:\n%s", whole)
	}
}

// TestDescribeGoneWorker describes a running job whose worker has died.
func TestDescribeGoneWorker(t *testing.T) {
	now := time.Now()
	j := &job.Job{State: job.Running, Attempt: 1, MaxAttempts: 20, Started: now.Add(-3 * time.Minute), Worker: "blue-7"}
	text := describe(shownJob{Job: j, unseen: 160 * time.Second}, now, false)
	for _, want := range []string{
		"worker     blue-7, gone\n",
		"attempt 1 runs, for 3m00s, on blue-7\n      the worker was not seen for 2m40s; when its lease is over, the next one runs the job\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the text:\n%s", want, text)
		}
	}
	if text := describe(shownJob{Job: j}, now, false); strings.Contains(text, "not seen") || strings.Contains(text, "gone") {
		t.Errorf("the worker is alive:\n%s", text)
	}
}

func TestTimelineEnds(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		job  job.Job
		want string
	}{
		{job.Job{State: job.Queued, RunAt: now.Add(time.Hour)}, "due, in 1h"},
		{job.Job{State: job.Queued, RunAt: now.Add(-time.Minute)}, "due, 1m ago"},
		{job.Job{State: job.Completed, Attempt: 2, Started: now.Add(-3 * time.Second), Finished: now}, "completed by attempt 2, after 3.0s"},
		{job.Job{State: job.Canceled, Finished: now}, "canceled"},
	} {
		events := timeline(shownJob{Job: &test.job}, now)
		if got := events[len(events)-1].text; got != test.want {
			t.Errorf("%s: got %q, want %q", test.job.State, got, test.want)
		}
	}
}

func TestWriteJSON(t *testing.T) {
	var b strings.Builder
	if err := writeJSON(&b, nastyJob(time.Now())); err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSuffix(b.String(), "\n")
	if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("%q is in the JSON", line[i:i+1])
	}
	var back job.Job
	if err := json.Unmarshal([]byte(line), &back); err != nil {
		t.Fatal(err)
	}
	if want := "kind" + nasty; back.Kind != want {
		t.Errorf("got kind %q, want %q", back.Kind, want)
	}
	if got, want := string(escape([]byte(`"`+"\U000e0001"+`"`))), `"\udb40\udc01"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
