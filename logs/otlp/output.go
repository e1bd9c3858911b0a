package otlp

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/push"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/forward"
	"google.golang.org/protobuf/encoding/protowire"
)

// identityKey is the attribute that identifies a record uniquely, by the semantic conventions of OpenTelemetry.
const identityKey = "log.record.uid"

// An Output exports records to a collector, or to another system that accepts OTLP over HTTP, as gzipped protobuf. A status from 200
// to 299 acknowledges them; whether the collector keeps them depends on its configuration. Collectors do not detect duplicates; each
// record has its [logs.Record.Identity] as the attribute log.record.uid. Records that the collector rejects in a partial success, and
// requests that it answers with 400, 413 or 422, are refused; after any other error the records are sent again.
type Output struct{ client *push.Client }

// NewOutput returns an output to a collector at a URL such as "http://collector:4318". If the URL has no path, the path is /v1/logs. A
// user and password in the URL, and the header, which may be nil, are sent with each request. NewOutput does not connect.
func NewOutput(address string, header http.Header) (*Output, error) {
	client, err := push.New(address, push.Config{Header: header, Gzip: true})
	if err != nil {
		return nil, err
	}
	return &Output{client}, nil
}

// Send implements [forward.Output].
func (o *Output) Send(ctx context.Context, records []logs.Record) error {
	path := o.client.Base()
	if path == "" {
		path = "/v1/logs"
	}
	answer, err := o.client.Post(ctx, path, "", "application/x-protobuf", encode(nil, records))
	if push.Refused(err) {
		return fmt.Errorf("%w: %w", forward.ErrRefused, err)
	}
	if err != nil {
		return err
	}
	if count, why := rejected(answer); count > 0 {
		return &forward.RefusedError{Count: count, Why: why}
	}
	return nil
}

// Close implements [forward.Output].
func (o *Output) Close() error {
	o.client.Close()
	return nil
}

// rejected returns the number of records that a partial success rejects, and the reason. The number is zero without a partial success.
func rejected(answer []byte) (count int, why string) {
	_ = each(answer, 1, func(b []byte) error { // an unreadable answer is ignored, since the status acknowledges the records
		for len(b) > 0 {
			f, rest, err := next(b)
			if err != nil {
				return err
			}
			b = rest
			switch {
			case f.is(1, protowire.VarintType):
				count = max(0, int(int64(f.bits)))
			case f.message(2):
				why = push.Shorten(f.data)
			}
		}
		return nil
	})
	return count, why
}

// encode appends an ExportLogsServiceRequest of records of one service.
func encode(b []byte, records []logs.Record) []byte {
	b, request := beginField(b, 1)
	b, resource := beginField(b, 1)
	b = endField(appendAttr(b, 1, serviceKey, slog.StringValue(records[0].Service)), resource)
	b, scope := beginField(b, 2)
	for i := range records {
		var at int
		b, at = beginField(b, 2)
		b = endField(appendLogRecord(b, &records[i]), at)
	}
	return endField(endField(b, scope), request)
}

func appendLogRecord(b []byte, r *logs.Record) []byte {
	nanos := uint64(max(0, r.Time.UnixNano()))
	number := severity(r.Level)
	b = appendFixed64(appendFixed64(b, 1, nanos), 11, nanos)
	b = appendVarint(b, 2, uint64(number))
	name := severityText(number)
	b, body := beginField(b, 5)
	b = endField(appendBytes(b, stringValue, valid(r.Message)), body)
	for _, a := range r.Attrs {
		switch a.Key {
		case textKey:
			name = valid(a.Value.String())
			continue
		case eventKey:
			b = appendText(b, 12, valid(a.Value.String()))
			continue
		case traceKey, spanKey:
			field, size := protowire.Number(9), 16
			if a.Key == spanKey {
				field, size = 10, 8
			}
			if id, err := hex.DecodeString(a.Value.String()); err == nil && len(id) == size {
				b = appendBytes(b, field, id)
				continue
			}
		case flagsKey:
			if flags, ok := unsigned(a.Value); ok {
				b = appendFixed32(b, 8, uint64(flags))
				continue
			}
		case droppedKey:
			if dropped, ok := unsigned(a.Value); ok {
				b = appendVarint(b, 7, uint64(dropped))
				continue
			}
		}
		b = appendAttr(b, 6, a.Key, a.Value)
	}
	if r.Task != "" {
		b = appendAttr(b, 6, taskKey, slog.StringValue(r.Task))
	}
	if r.Job != "" {
		b = appendAttr(b, 6, jobKey, slog.StringValue(r.Job))
	}
	if r.Number > 0 {
		b = appendAttr(b, 6, identityKey, slog.StringValue(r.Identity()))
	}
	return appendText(b, 3, strings.TrimSpace(name))
}

// unsigned returns an integer as 32 bits without a sign, and whether it fits.
func unsigned(v slog.Value) (uint32, bool) {
	switch v.Kind() {
	case slog.KindInt64:
		return uint32(v.Int64()), v.Int64() == int64(uint32(v.Int64()))
	case slog.KindUint64:
		return uint32(v.Uint64()), v.Uint64() == uint64(uint32(v.Uint64()))
	}
	return 0, false
}
