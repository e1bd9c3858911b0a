//go:build unix

package engines

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/slim/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
)

// TestIntakeFields: a record from a collector is stored once, with each field where it is documented.
func TestIntakeFields(t *testing.T) {
	s := serve(t)
	_, address := collect(t, "http://"+s.http, collecting{queue: true})
	traceID, _ := hex.DecodeString(trace)
	spanID, _ := hex.DecodeString(span)
	values := list(
		pair("text", of("ß\n")), pair("int", of(int64(-1<<63))), pair("double", of(0.5)), pair("yes", of(true)), pair("bytes", of([]byte{0, 255})), pair("nothing", nil),
		pair("array", array(of("a"), of(int64(1<<53+1)), of(1.0), nil, object(pair("k", of(false))))),
		pair("object", object(pair("a", object(pair("b", of("c")))), pair("none", object()))),
		pair("meanwhile.task", of("main/search")), pair("meanwhile.job", of("01JX")),
	)
	request := &collector.ExportLogsServiceRequest{ResourceLogs: []*logspb.ResourceLogs{
		{
			Resource: &resource.Resource{Attributes: list(pair("service.name", of("größe / api")), pair("host.name", of("h")))},
			ScopeLogs: []*logspb.ScopeLogs{{
				Scope: &common.InstrumentationScope{Name: "lib", Version: "1.2", Attributes: list(pair("s", of(true)))},
				LogRecords: []*logspb.LogRecord{
					{TimeUnixNano: 1_700_000_000_123_456_789, ObservedTimeUnixNano: 5, SeverityNumber: 13, SeverityText: "WARN", Body: of("two\n\"lines\" 🙂"), Attributes: values},
					{
						ObservedTimeUnixNano: 1_700_000_000_000_000_001, SeverityNumber: 18, SeverityText: "Fault", Body: object(pair("n", of(int64(1)))),
						TraceId: traceID, SpanId: spanID, Flags: 1, EventName: "opened", DroppedAttributesCount: 3,
					},
				},
			}},
		},
		{
			Resource:  &resource.Resource{Attributes: list(pair("service.name", of("no\nname")))}, // only this one is rejected
			ScopeLogs: []*logspb.ScopeLogs{{LogRecords: []*logspb.LogRecord{{Body: of("lost")}}}},
		},
		{ScopeLogs: []*logspb.ScopeLogs{{LogRecords: []*logspb.LogRecord{{TimeUnixNano: 1, Body: of("of nobody")}}}}},
	}}
	if err := export(t.Context(), address, request); err != nil {
		t.Fatal(err)
	}
	for service, want := range map[string][]string{
		"größe / api": {
			`{"time":"2023-11-14T22:13:20.123456789Z","level":"WARN","service":"größe / api","message":"two\n\"lines\" 🙂","task":"main/search","job":"01JX","number":1,` +
				`"attrs":{"array":["a",9007199254740993,1.0,null,{"k":false}],"bytes":"AP8=","double":0.5,"host.name":"h","int":-9223372036854775808,` +
				`"nothing":null,"object.a.b":"c","object.none":{},"otel.scope.name":"lib","otel.scope.version":"1.2","s":true,"text":"ß\n","yes":true}}`,
			`{"time":"2023-11-14T22:13:20.000000001Z","level":"ERROR+1","service":"größe / api","message":"{\"n\":1}","number":2,` +
				`"attrs":{"dropped_attributes_count":3,"event_name":"opened","host.name":"h","otel.scope.name":"lib","otel.scope.version":"1.2","s":true,` +
				`"severity_text":"Fault","span_id":"` + span + `","trace_flags":1,"trace_id":"` + trace + `"}}`,
		},
		"unknown_service": {`{"time":"1970-01-01T00:00:00.000000001Z","level":"INFO","service":"unknown_service","message":"of nobody","number":1}`},
	} {
		if err := until(time.Minute, func() bool { return len(s.kept(t, service)) >= len(want) }); err != nil {
			t.Fatalf("%s: %v", service, err)
		}
		kept := s.kept(t, service)
		slices.SortFunc(kept, func(a, b logs.Record) int { return cmp.Compare(a.Number, b.Number) }) // a search sorts by time
		if len(kept) != len(want) {
			t.Errorf("%d records of %s are kept, want %d", len(kept), service, len(want))
		}
		for i := range want {
			slices.SortFunc(kept[i].Attrs, func(a, b slog.Attr) int { return strings.Compare(a.Key, b.Key) })
			if got := string(kept[i].AppendJSON(nil)); got != want[i] {
				t.Errorf("got  %s\nwant %s", got, want[i])
			}
		}
	}
}

// TestIntakeHarm: a collector continues when the server that it sends to is killed or suspended. Each record is stored, and only
// records that were in flight when the server was killed may be stored twice.
func TestIntakeHarm(t *testing.T) {
	const (
		batch = 200
		most  = 10 // concurrent requests of a collector
		kills = 2
	)
	s := serve(t)
	_, address := collect(t, "http://"+s.http, collecting{queue: true})
	keeps := func(records int) func() bool {
		return func() bool {
			stored, err := s.client.Services(t.Context())
			return err == nil && len(stored) == 1 && stored[0].Records >= int64(records)
		}
	}
	send := func(ctx context.Context, from, to int) error {
		for first := from; first < to; first += batch {
			var records []*logspb.LogRecord
			for n := first; n < first+batch; n++ {
				records = append(records, &logspb.LogRecord{TimeUnixNano: uint64(n + 1), SeverityNumber: 9, Body: of(fmt.Sprint("record ", n))})
			}
			err := export(ctx, address, &collector.ExportLogsServiceRequest{ResourceLogs: []*logspb.ResourceLogs{{
				Resource:  &resource.Resource{Attributes: list(pair("service.name", of("api")))},
				ScopeLogs: []*logspb.ScopeLogs{{LogRecords: records}},
			}}})
			if err != nil {
				return err
			}
		}
		return nil
	}
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error { return send(ctx, 0, run/2) })
		for kill := range kills {
			if err := until(time.Minute, keeps(run/5*(kill+1))); err != nil {
				return fmt.Errorf("before kill %d: %w", kill+1, err)
			}
			s.kill()
			s.start()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.hold()
	err = send(t.Context(), run/2, run)
	s.release()
	if err != nil {
		t.Fatal(err)
	}
	var different, again int
	err = until(time.Minute, func() bool {
		if !keeps(run + again)() {
			return false
		}
		seen := map[string]bool{}
		kept := s.kept(t, "api")
		for _, r := range kept {
			seen[r.Message] = true
		}
		different, again = len(seen), len(kept)-len(seen)
		return different == run
	})
	if err != nil || again > kills*most*batch {
		t.Errorf("%d of %d records are stored, %d of them twice: %v", different, run, again, err)
	}
	t.Logf("%d records, %d were stored twice", different, again)
}

// export sends a request to a collector. When it returns nil, the collector has the request.
func export(ctx context.Context, address string, request *collector.ExportLogsServiceRequest) error {
	body, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/logs", bytes.NewReader(body))
	if err != nil {
		return err
	}
	ask.Header.Set("Content-Type", "application/x-protobuf")
	response, err := http.DefaultClient.Do(ask)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New("a collector answers " + response.Status)
	}
	return nil
}

func list(pairs ...*common.KeyValue) []*common.KeyValue { return pairs }

func pair(key string, value *common.AnyValue) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: value}
}

func of(value any) *common.AnyValue {
	switch value := value.(type) {
	case string:
		return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}
	case int64:
		return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: value}}
	case float64:
		return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: value}}
	case bool:
		return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: value}}
	case []byte:
		return &common.AnyValue{Value: &common.AnyValue_BytesValue{BytesValue: value}}
	}
	panic(fmt.Sprintf("%T", value))
}

func array(values ...*common.AnyValue) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: values}}}
}

func object(pairs ...*common.KeyValue) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: &common.KeyValueList{Values: pairs}}}
}
