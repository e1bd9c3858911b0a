package fetch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

// A milliseconds is a time that is a number of milliseconds in JSON, with the precision of a microsecond.
type milliseconds time.Duration

// MarshalJSON formats the number.
func (m milliseconds) MarshalJSON() ([]byte, error) {
	ms := math.Round(float64(m)/1e3) / 1e3
	return strconv.AppendFloat(nil, ms, 'f', -1, 64), nil
}

// A jsonLine is the JSON of a transfer. The order of its fields is part of the documented format.
type jsonLine struct {
	URL      string      `json:"url"`
	From     string      `json:"from"` // fromArguments, fromStandard, or the name of a file
	Line     int         `json:"line"`
	Status   int         `json:"status"` // 0 if there was no response
	Bytes    int64       `json:"bytes"`
	Timings  jsonTimings `json:"timings"`
	Attempts int         `json:"attempts"`
	FinalURL string      `json:"final_url,omitempty"`
	Location string      `json:"location,omitempty"`
	File     string      `json:"file,omitempty"`
	Error    string      `json:"error,omitempty"`
	NotDone  bool        `json:"not_done,omitempty"`
}

type jsonTimings struct {
	DNS      milliseconds `json:"dns"`
	Connect  milliseconds `json:"connect"`
	TLS      milliseconds `json:"tls"`
	Wait     milliseconds `json:"wait"`
	Transfer milliseconds `json:"transfer"`
	Total    milliseconds `json:"total"`
}

// formatJSON formats a transfer as a line of JSON.
func formatJSON(t *transfer) []byte {
	line := jsonLine{
		URL: t.url.Redacted(), From: t.at.source, Line: t.at.line, Status: t.status, Bytes: t.bytes, Attempts: t.attempts,
		Location: t.location, File: t.file, NotDone: !t.ended,
		Timings: jsonTimings{
			DNS: milliseconds(t.spent[lookup]), Connect: milliseconds(t.spent[connect]), TLS: milliseconds(t.spent[handshake]),
			Wait: milliseconds(t.spent[waiting]), Transfer: milliseconds(t.spent[receiving]), Total: milliseconds(t.elapsed),
		},
	}
	if t.final != nil {
		line.FinalURL = t.final.Redacted()
	}
	if t.err != nil {
		line.Error = t.err.Error()
	}
	return encode(line)
}

// formatUnread formats the position where reading the input stopped as JSON.
func formatUnread(at inputLine) []byte {
	return encode(struct {
		NotStarted string `json:"not_started_from"`
		Line       int    `json:"line"`
	}{at.source, at.line})
}

func encode(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // no field can fail
	}
	return b.Bytes()
}

// formatPlain formats a transfer as a line for people: status, size, time, URL, and details.
func formatPlain(t *transfer) []byte {
	status := "ERR"
	if t.status != 0 && (t.err == nil || t.status >= 400) {
		status = strconv.Itoa(t.status)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s  %6s  %6s  %s", status, shortSize(t.bytes), shortTime(t.elapsed), t.url.Redacted())
	if t.final != nil {
		fmt.Fprintf(&b, "  -> %s", t.final.Redacted())
	}
	if t.location != "" {
		fmt.Fprintf(&b, "  -> %s", t.location)
	}
	if t.file != "" {
		fmt.Fprintf(&b, "  > %s", t.file)
	}
	if t.err != nil {
		fmt.Fprintf(&b, "  %s", t.err)
	}
	if t.attempts > 1 {
		fmt.Fprintf(&b, "  (%s)", probe.Count(t.attempts, "attempt"))
	}
	return append([]byte(printable(b.String())), '\n')
}
