package logs

import (
	"fmt"
	"log/slog"
	"strings"
	"text/template"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/logs"
)

// A recordTemplate prints records in a user's format.
type recordTemplate struct {
	template *template.Template
	zone     *time.Location
}

// templateRecord is the data of a template.
type templateRecord struct {
	Time    stamp
	Level   slog.Level
	Service string
	Message string
	Task    string
	Job     string
	Number  uint64
	Attrs   map[string]string
	record  *logs.Record
}

// JSON returns the record as --json prints it.
func (r *templateRecord) JSON() string { return string(r.record.AppendJSON(nil)) }

// A stamp is a time with a shorter String.
type stamp struct{ time.Time }

// String formats the time in RFC 3339, to the millisecond.
func (s stamp) String() string { return s.Format("2006-01-02T15:04:05.000Z07:00") }

func newTemplate(text string, zone *time.Location) (*recordTemplate, error) {
	t, err := template.New("template").Option("missingkey=zero").Parse(text)
	if err != nil {
		return nil, &probe.UsageError{Err: templateError(err)}
	}
	rt := &recordTemplate{template: t, zone: zone}
	if _, err := rt.append(nil, &logs.Record{}); err != nil { // detects unknown fields
		return nil, usage(`%w; there are Time, Level, Service, Message, Task, Job, Number, Attrs, as in .Attrs.status or (index .Attrs "http.status"), and JSON`, err)
	}
	return rt, nil
}

// templateError returns the position and the text of a template error, without the package's own words.
func templateError(err error) error {
	text := strings.TrimPrefix(err.Error(), "template: template:")
	text = strings.Replace(text, `executing "template" at `, "", 1)
	return fmt.Errorf("--template: line %s", strings.Replace(text, " in type *logs.templateRecord", "", 1))
}

func (t *recordTemplate) append(b []byte, r *logs.Record) ([]byte, error) {
	view := &templateRecord{
		Time: stamp{r.Time.In(t.zone)}, Level: r.Level, Service: r.Service, Message: r.Message, Task: r.Task, Job: r.Job, Number: r.Number,
		Attrs: make(map[string]string, len(r.Attrs)), record: r,
	}
	for _, a := range r.Attrs {
		view.Attrs[a.Key] = valueText(a.Value)
	}
	var out strings.Builder
	if err := t.template.Execute(&out, view); err != nil {
		return b, templateError(err)
	}
	return append(appendSafe(b, out.String(), "\n\t"), '\n'), nil
}
