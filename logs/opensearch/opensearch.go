// Package opensearch forwards records to OpenSearch, Elasticsearch, and other systems that accept their bulk requests.
package opensearch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/push"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/forward"
)

// Config configures an [Output]. All fields but URL have a default.
type Config struct {
	// URL is the address of the cluster, to which the output adds /_bulk, such as https://search:9200. A user and password in it, and a query,
	// are sent with each request.
	URL string

	// Index is the name of a data stream or an index. {service} stands for the service, in lower case and with _ for characters that
	// index names cannot have, and {date} for the day of the record in UTC, such as 2026.05.04. Default "logs-{date}".
	Index string

	Header http.Header // sent with each request, such as Authorization: ApiKey …
}

// An Output sends records as documents in bulk requests, with the action create and [logs.Record.Identity] as _id, so that an index keeps a
// record once even if it is sent again. How durable an acknowledged document is depends on the settings of the cluster.
//
// The fields of a document are those of the Elastic Common Schema: @timestamp, log.level, service.name, message, event.sequence
// for the number, event.id for the identity, trace.id and span.id; then meanwhile.task, meanwhile.job, and the other attributes in
// the object attrs. A document that the cluster refuses, for example because a field has another type in its index, is sent once
// more with these attributes as one text, attrs_json. If it is refused again, the record counts as refused.
type Output struct {
	client *push.Client
	index  string
}

// New returns an output to a cluster, or an error if the URL or the index is invalid. It does not connect.
func New(c Config) (*Output, error) {
	client, err := push.New(c.URL, push.Config{Header: c.Header, Gzip: true})
	if err != nil {
		return nil, err
	}
	o := &Output{client: client, index: cmp.Or(c.Index, "logs-{date}")}
	name := o.indexOf(new(logs.Record))
	if name != indexName(name) || strings.ContainsAny(name, "{}") || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "_") || strings.HasPrefix(name, "+") {
		return nil, fmt.Errorf("%q is not a valid name of an index", o.index)
	}
	return o, nil
}

// Send implements [forward.Output].
func (o *Output) Send(ctx context.Context, records []logs.Record) error {
	refused, _, err := o.bulk(ctx, records, false)
	if err != nil || len(refused) == 0 {
		return err
	}
	refused, why, err := o.bulk(ctx, refused, true)
	if err != nil || len(refused) == 0 {
		return err
	}
	return &forward.RefusedError{Count: len(refused), Why: why}
}

// bulk sends a bulk request, and returns the records that the cluster refused and the error of the first of them. With plain, the
// attributes are one text.
func (o *Output) bulk(ctx context.Context, records []logs.Record, plain bool) (refused []logs.Record, why string, err error) {
	var body []byte
	for i := range records {
		body = o.appendItem(body, &records[i], plain)
	}
	const only = "filter_path=errors,items.create.status,items.create.error.type,items.create.error.reason"
	text, err := o.client.Post(ctx, o.client.Base()+"/_bulk", only, "application/x-ndjson", body)
	if push.Refused(err) {
		return nil, "", fmt.Errorf("%w: %w", forward.ErrRefused, err)
	}
	if err != nil {
		return nil, "", err
	}
	return readAnswer(text, records)
}

// An answer is the response to a bulk request, as far as it is used.
type answer struct {
	Errors bool `json:"errors"`
	Items  []struct {
		Create struct {
			Status int `json:"status"`
			Error  struct {
				Type   string `json:"type"`
				Reason string `json:"reason"`
			} `json:"error"`
		} `json:"create"`
	} `json:"items"`
}

func readAnswer(text []byte, records []logs.Record) (refused []logs.Record, why string, err error) {
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, "", fmt.Errorf("the answer to a bulk request is not JSON: %s", push.Shorten(text))
	}
	if len(a.Items) != len(records) { // checked even without errors, since only an item acknowledges its record
		return nil, "", fmt.Errorf("the answer to a bulk request of %d records has %d", len(records), len(a.Items))
	}
	if !a.Errors {
		return nil, "", nil
	}
	for i := range a.Items {
		item := &a.Items[i].Create
		said := push.Shorten([]byte(item.Error.Type + ": " + item.Error.Reason))
		switch status := item.Status; {
		case status >= 200 && status < 300, status == http.StatusConflict: // 409: the document already exists
		case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge:
			refused, why = append(refused, records[i]), cmp.Or(why, said)
		default: // such as no space, no permission or no index: an operator can fix that, so the records are sent again
			return nil, "", fmt.Errorf("a record of a bulk request got status %d: %s", status, said)
		}
	}
	return refused, why, nil
}

// Close implements [forward.Output].
func (o *Output) Close() error {
	o.client.Close()
	return nil
}
