package faktory

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// usualFetched is how many bytes a fetched job has besides its args and custom, with some to spare.
const usualFetched = 300

// A failure describes the last failure of a job to clients.
type failure struct {
	Count     int       `json:"retry_count"` // of the retry that failed; 0 for the first attempt
	Remaining int       `json:"remaining"`
	Failed    time.Time `json:"failed_at"`
	Message   string    `json:"message,omitempty"`
	Type      string    `json:"errtype,omitempty"`
	Backtrace []string  `json:"backtrace,omitempty"`
}

// appendFetched appends a job as it is sent to clients. It does not use encoding/json, since this is done for every job. Args that are not an array
// become the only element of one.
func appendFetched(b []byte, j *job.Job) []byte {
	b = appendText(append(b, `{"jid":`...), jidOf(j))
	b = appendText(append(b, `,"queue":`...), j.Queue)
	b = appendText(append(b, `,"jobtype":`...), j.Kind)
	b = append(b, `,"args":`...)
	if bytes.HasPrefix(j.Args, []byte("[")) {
		b = append(b, j.Args...)
	} else {
		b = append(append(append(b, '['), j.Args...), ']')
	}
	b = appendInteger(b, `,"priority":`, j.Priority)
	b = append(j.Created.UTC().AppendFormat(append(b, `,"created_at":"`...), time.RFC3339Nano), '"')
	b = append(j.RunAt.UTC().AppendFormat(append(b, `,"enqueued_at":"`...), time.RFC3339Nano), '"')
	b = appendInteger(b, `,"reserve_for":`, int(reserveOf(j)/time.Second))
	b = appendInteger(b, `,"retry":`, retriesOf(j))
	if n, _ := strconv.Atoi(j.Meta[metaBacktrace]); n != 0 {
		b = appendInteger(b, `,"backtrace":`, n)
	}
	if len(j.Failures) > 0 {
		text, _ := json.Marshal(failureOf(j)) // numbers, texts and a time that was stored
		b = append(append(b, `,"failure":`...), text...)
	}
	if custom := j.Meta[metaCustom]; custom != "" && json.Valid([]byte(custom)) {
		b = append(append(b, `,"custom":`...), custom...)
	}
	return append(b, '}')
}

func failureOf(j *job.Job) failure {
	last := j.Failures[len(j.Failures)-1]
	before := j.Used() // attempts that failed
	if j.State == job.Running {
		before--
	}
	f := failure{Count: max(before-1, 0), Remaining: max(j.MaxAttempts-before, 0), Failed: last.Time.UTC()}
	f.Type, f.Message = splitError(last.Error)
	if last.Stack != "" {
		f.Backtrace = strings.Split(strings.TrimSuffix(last.Stack, "\n"), "\n")
	}
	return f
}

// appendText appends a text as JSON.
func appendText(b []byte, text string) []byte {
	if plain(text) {
		return append(append(append(b, '"'), text...), '"')
	}
	encoded, _ := json.Marshal(text) // which has no error for a text
	return append(b, encoded...)
}

func appendInteger(b []byte, name string, n int) []byte {
	return strconv.AppendInt(append(b, name...), int64(n), 10)
}
