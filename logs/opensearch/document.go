package opensearch

import (
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/jsontext"
	"github.com/meanwhile-go/meanwhile/logs"
)

// appendItem appends the two lines of a record in a bulk request: the action and the document. With plain, the attributes of the document
// are one text.
func (o *Output) appendItem(b []byte, r *logs.Record, plain bool) []byte {
	identity := r.Identity()
	b = append(b, `{"create":{"_index":`...)
	b = jsontext.AppendString(b, o.indexOf(r))
	b = append(b, `,"_id":`...)
	b = jsontext.AppendString(b, identity)
	b = append(b, "}}\n"...)

	b = append(b, `{"@timestamp":"`...)
	b = r.Time.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","log.level":`...)
	b = jsontext.AppendString(b, strings.ToLower(r.Level.String()))
	b = append(b, `,"service.name":`...)
	b = jsontext.AppendString(b, r.Service)
	b = append(b, `,"message":`...)
	b = jsontext.AppendString(b, r.Message)
	b = append(b, `,"event.sequence":`...)
	b = strconv.AppendUint(b, r.Number, 10)
	b = append(b, `,"event.id":`...)
	b = jsontext.AppendString(b, identity)
	b = appendText(b, "meanwhile.task", r.Task)
	b = appendText(b, "meanwhile.job", r.Job)
	var attrs []byte
	var used []string // a document with the same field twice would be refused
	for _, a := range r.Attrs {
		if name, ok := own[a.Key]; ok && a.Value.Kind() == slog.KindString && !slices.Contains(used, name) {
			used = append(used, name)
			b = appendText(b, name, a.Value.String())
			continue
		}
		if attrs = append(attrs, ','); len(attrs) == 1 {
			attrs[0] = '{'
		}
		attrs = append(jsontext.AppendString(attrs, a.Key), ':')
		attrs = jsontext.AppendValue(attrs, a.Value)
	}
	if len(attrs) > 0 && plain {
		b = jsontext.AppendString(append(b, `,"attrs_json":`...), append(attrs, '}'))
	} else if len(attrs) > 0 {
		b = append(append(append(b, `,"attrs":`...), attrs...), '}')
	}
	return append(b, "}\n"...)
}

// own maps the attributes that have fields of their own in the Elastic Common Schema to these fields.
var own = map[string]string{"trace_id": "trace.id", "span_id": "span.id"}

func appendText(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return jsontext.AppendString(b, text)
}

// indexOf returns the name of the index that a record goes to.
func (o *Output) indexOf(r *logs.Record) string {
	if !strings.Contains(o.index, "{") {
		return o.index
	}
	return strings.NewReplacer("{service}", indexName(r.Service), "{date}", r.Time.UTC().Format("2006.01.02")).Replace(o.index)
}

// indexName returns the name of a service as a part of an index name: in lower case, with _ for characters that are not allowed there.
func indexName(service string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`\/*?"<>| ,#:`, r) {
			return '_'
		}
		return r
	}, strings.ToLower(service))
}
