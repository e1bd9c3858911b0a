package faktory

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/internal/jsonscan"
	"github.com/meanwhile-go/meanwhile/job"
)

// FuzzScan compares what scan reads with what encoding/json reads, for anything that a client may send.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"jid":"job-000001","queue":"default","jobtype":"a","args":[1,"\n",{"a":"größe"}],"created_at":"2030-01-31T15:04:05.5Z","at":"x","retry":25,"reserve_for":1800,"backtrace":3,"priority":5,"custom":{"a":1}}`,
		`[{"jid":"a","args":[]},{"jid":"b","retry":-1}]`, `[]`, `[{}]`, `[{},]`, ` { "jid" : "a" , "jid" : "b" } `, `{"JID":"a"}`, `{"jid":null}`, `{"jid":"\u0041"}`, `{"args":null,"custom":null}`,
		`{"retry":1.5}`, `{"retry":1e3}`, `{"reserve_for":1.5}`, `{"reserve_for":-0}`, `{"retry":99999999999999999999}`, `{"args":"` + "\x01" + `"}`, `{"jid":"` + "\xff" + `"}`, `{"jid":"a"}x`, `{"priority":01}`,
		`{"args":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, "", "null",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		compareScan(t, text, scanPushed)
		compareScan(t, text, scanAllPushed)
		compareScan(t, text, scanAck)
	})
}

func compareScan[T any](t *testing.T, text string, scan func(s *jsonscan.Scanner, value *T) bool) {
	t.Helper()
	var got, want T
	err, wantErr := unmarshal([]byte(text), &got, scan), json.Unmarshal([]byte(text), &want)
	if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%q was read as %#v, %v, want %#v, %v", text, got, err, want, wantErr)
	}
}

// TestScansWhatClientsWrite: what clients usually send is not decoded by encoding/json.
func TestScansWhatClientsWrite(t *testing.T) {
	usual := `{"jid":"job-000001","queue":"default","jobtype":"a","args":[1,"\n",{"a":"größe"}],"created_at":"2030-01-31T15:04:05.5Z","at":"2030-01-31T15:04:05.5Z","retry":25,"reserve_for":1800,"custom":{"a":1}}`
	for text, scans := range map[string]bool{usual: true, strings.ToUpper(usual): false} {
		s := jsonscan.New([]byte(text))
		if got := scanPushed(&s, new(pushed)); got != scans {
			t.Errorf("scans %s: %v, want %v", text, got, scans)
		}
	}
}

// TestFetchedReadsAsTheJob: a job is sent as valid JSON that describes it.
func TestFetchedReadsAsTheJob(t *testing.T) {
	texts := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]{0,20}`), rapid.Just("a: <b href=\"x\">\\ \x7f\u2028"))
	rapid.Check(t, func(t *rapid.T) {
		text := func(of string) string { return texts.Draw(t, of) }
		args, _ := json.Marshal(rapid.SliceOf(texts).Draw(t, "args"))
		j := &job.Job{
			ID: job.NewID(), Kind: text("kind"), Queue: text("queue"), Args: args, Priority: rapid.IntRange(1, 9).Draw(t, "priority"), MaxAttempts: 26, Attempt: 2, State: job.Running,
			Created: time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, "created")), RunAt: time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, "due")),
			Options: job.Options{Timeout: time.Duration(rapid.Int64().Draw(t, "timeout")), Meta: map[string]string{job.MetaID: text("jid")}},
		}
		if rapid.Bool().Draw(t, "an object") {
			j.Args = json.RawMessage(`{"a":1}`)
		}
		if rapid.Bool().Draw(t, "more") {
			custom, _ := json.Marshal(map[string]string{text("name"): text("value")})
			j.Meta[metaCustom], j.Meta[metaBacktrace], j.Meta[metaRetry] = string(custom), "7", "-1"
			j.Failures = []job.Failure{{Time: j.Created, Error: text("error"), Stack: text("stack")}}
		}
		want := map[string]any{
			"jid": jidOf(j), "queue": j.Queue, "jobtype": j.Kind, "args": json.RawMessage(j.Args), "priority": j.Priority, "created_at": j.Created.UTC(),
			"enqueued_at": j.RunAt.UTC(), "reserve_for": reserveOf(j) / time.Second, "retry": retriesOf(j),
		}
		if j.Args[0] != '[' {
			want["args"] = []json.RawMessage{j.Args}
		}
		if len(j.Failures) > 0 {
			want["custom"], want["backtrace"], want["failure"] = json.RawMessage(j.Meta[metaCustom]), 7, failureOf(j)
		}
		encoded, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got, wanted any
		if err := json.Unmarshal(appendFetched(nil, j), &got); err != nil {
			t.Fatalf("%s: %v", appendFetched(nil, j), err)
		}
		if _ = json.Unmarshal(encoded, &wanted); !reflect.DeepEqual(got, wanted) {
			t.Errorf("sends %s, want %s", appendFetched(nil, j), encoded)
		}
	})
}
