//go:build unix

package engines

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/slim/otlp/logs/v1"
	"google.golang.org/protobuf/proto"
)

// An exported is a record that a collector has exported.
type exported struct {
	*logspb.LogRecord
	service string
	others  int // number of attributes of its resource besides the service
}

func (e exported) identity() string { return text(attrOf(e.Attributes, "log.record.uid")) }

// A sink is a server that a collector exports to. It decodes requests with the official types.
type sink struct {
	t       *testing.T
	address string

	// before is called, never concurrently, with the records of a request and the number of records received so far. It may
	// answer the request itself.
	before func(w http.ResponseWriter, records []exported, taken int) (done bool)

	mu      sync.Mutex
	records []exported
}

func newSink(t *testing.T) *sink {
	s := &sink{t: t}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.address = server.URL
	return s
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the collector was killed
	}
	records, err := read(body)
	if err != nil {
		s.t.Errorf("a collector exports what cannot be read: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before != nil && s.before(w, records, len(s.records)) {
		return
	}
	s.records = append(s.records, records...)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (s *sink) taken() []exported {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records
}

func read(body []byte) (records []exported, err error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	body, err = io.ReadAll(unpacked)
	if err != nil {
		return nil, err
	}
	var request collector.ExportLogsServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	for _, of := range request.ResourceLogs {
		service := text(attrOf(of.Resource.Attributes, "service.name"))
		for _, scope := range of.ScopeLogs {
			for _, record := range scope.LogRecords {
				records = append(records, exported{record, service, len(of.Resource.Attributes) - 1})
			}
		}
	}
	return records, nil
}

func attrOf(attrs []*common.KeyValue, key string) *common.AnyValue {
	for _, a := range attrs {
		if a.Key == key {
			return a.Value
		}
	}
	return nil
}

func text(v *common.AnyValue) string { return v.GetStringValue() }

// show formats a value with its kind.
func show(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case nil:
		return "nothing"
	case *common.AnyValue_StringValue:
		return fmt.Sprintf("%q", v.StringValue)
	case *common.AnyValue_BytesValue:
		return "bytes " + base64.StdEncoding.EncodeToString(v.BytesValue)
	case *common.AnyValue_ArrayValue:
		var members []string
		for _, member := range v.ArrayValue.Values {
			members = append(members, show(member))
		}
		return "[" + strings.Join(members, " ") + "]"
	case *common.AnyValue_KvlistValue:
		return "{" + showAll(v.KvlistValue.Values) + "}"
	case *common.AnyValue_IntValue:
		return fmt.Sprintf("int %d", v.IntValue)
	case *common.AnyValue_DoubleValue:
		return fmt.Sprintf("double %v", v.DoubleValue)
	case *common.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	default:
		return fmt.Sprintf("%T", v)
	}
}

func showAll(attrs []*common.KeyValue) string {
	var all []string
	for _, a := range attrs {
		all = append(all, a.Key+"="+show(a.Value))
	}
	return strings.Join(all, " ")
}
