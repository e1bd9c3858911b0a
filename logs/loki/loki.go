// Package loki receives the push requests of Grafana Loki's clients ([Handler]), and forwards records to Loki and to other systems that
// accept its push requests ([Output]).
package loki

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/jsontext"
	"github.com/meanwhile-go/meanwhile/internal/push"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/forward"
)

// An Output pushes records to Loki as JSON. The labels of a stream are service and level, the line is the message, and the task, the
// job, the number, the identity and the attributes are structured metadata, all as text. Loki keeps a line that is sent again only once, as
// it has the same time, text and metadata. Requests that Loki answers with 400 (for example because a record is too old), 413 or 422 are
// refused; after any other error the records are sent again.
type Output struct{ client *push.Client }

// New returns an output to a server at a URL such as "http://loki:3100", to which the output adds the path /loki/api/v1/push. A user and
// password in the URL, and the header, which may be nil, are sent with each request. New does not connect.
func New(address string, header http.Header) (*Output, error) {
	client, err := push.New(address, push.Config{Header: header, Gzip: true})
	if err != nil {
		return nil, err
	}
	return &Output{client}, nil
}

// Send implements [forward.Output].
func (o *Output) Send(ctx context.Context, records []logs.Record) error {
	_, err := o.client.Post(ctx, o.client.Base()+"/loki/api/v1/push", "", "application/json", encode(records))
	if push.Refused(err) {
		return fmt.Errorf("%w: %w", forward.ErrRefused, err)
	}
	return err
}

// Close implements [forward.Output].
func (o *Output) Close() error {
	o.client.Close()
	return nil
}

// encode returns a push request with records of one service, with a stream for each level.
func encode(records []logs.Record) []byte {
	streams := map[string][]byte{}
	var levels []string
	for i := range records {
		level := strings.ToLower(records[i].Level.String())
		b, ok := streams[level]
		if !ok {
			levels = append(levels, level)
		} else {
			b = append(b, ',')
		}
		streams[level] = appendLine(b, &records[i])
	}
	b := []byte(`{"streams":[`)
	for i, level := range levels {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsontext.AppendString(append(b, `{"stream":{"service":`...), records[0].Service)
		b = jsontext.AppendString(append(b, `,"level":`...), level)
		b = append(append(append(b, `},"values":[`...), streams[level]...), "]}"...)
	}
	return append(b, "]}"...)
}

func appendLine(b []byte, r *logs.Record) []byte {
	b = strconv.AppendInt(append(b, `["`...), r.Time.UnixNano(), 10)
	b = jsontext.AppendString(append(b, `",`...), r.Message)
	b = jsontext.AppendString(append(b, `,{"identity":`...), r.Identity())
	b = strconv.AppendUint(append(b, `,"number":"`...), r.Number, 10)
	b = append(b, '"')
	seen := map[string]bool{"identity": true, "number": true}
	put := func(key, text string) {
		if !seen[key] && text != "" { // of several with the same key, the first one counts
			seen[key] = true
			b = jsontext.AppendString(append(b, ','), key)
			b = jsontext.AppendString(append(b, ':'), text)
		}
	}
	put("task", r.Task)
	put("job", r.Job)
	for _, a := range r.Attrs {
		if a.Value.Kind() == slog.KindString {
			put(a.Key, a.Value.String())
			continue
		}
		put(a.Key, strings.Trim(string(jsontext.AppendValue(nil, a.Value)), `"`))
	}
	return append(b, "}]"...)
}
