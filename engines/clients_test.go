//go:build unix

package engines

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/elastic/go-elasticsearch/v7"
	"github.com/elastic/go-elasticsearch/v7/esutil"
	"github.com/grafana/loki-client-go/loki"
	"github.com/grafana/loki/pkg/push"
	"github.com/prometheus/common/model"

	"github.com/meanwhile-go/meanwhile/logs"
)

// lines waits until a service has this many records, and returns a sorted list of them: message, level, time and attributes of each.
func (s *server) lines(t *testing.T, service string, want int) (lines []string) {
	t.Helper()
	var kept []logs.Record
	if err := until(time.Minute, func() bool { kept = s.kept(t, service); return len(kept) >= want }); err != nil {
		t.Fatalf("%d records of %s, want %d: %v", len(kept), service, want, err)
	}
	for _, r := range kept {
		text := fmt.Sprintf("%s %s %s", r.Message, r.Level, r.Time.Format(time.RFC3339Nano))
		for _, a := range r.Attrs {
			text += " " + a.String()
		}
		lines = append(lines, text)
	}
	slices.Sort(lines)
	return lines
}

// TestLokiClient: records from Loki's own client are stored with their labels and metadata.
func TestLokiClient(t *testing.T) {
	s := serve(t)
	at := time.Date(2026, 11, 23, 10, 0, 0, 123456789, time.UTC)
	config, err := loki.NewDefaultConfig("http://" + s.http + "/loki/api/v1/push")
	if err != nil {
		t.Fatal(err)
	}
	config.BatchWait = 10 * time.Millisecond
	client, err := loki.New(config)
	if err != nil {
		t.Fatal(err)
	}
	labels := model.LabelSet{"app": "größe / api", "level": "warn", "path": `C:\a "b"`}
	var want []string
	for n := range 3 {
		if err := client.HandleWithMetadata(labels, at.Add(time.Duration(n)), fmt.Sprint("line ", n, "\n🙂"), push.LabelsAdapter{{Name: "trace_id", Value: "x"}}); err != nil {
			t.Fatal(err)
		}
		stamp := at.Add(time.Duration(n)).Format(time.RFC3339Nano)
		want = append(want, fmt.Sprintf("line %d\n🙂 WARN %s app=größe / api path=C:\\a \"b\" trace_id=x", n, stamp))
	}
	client.Stop()
	if got := s.lines(t, "größe / api", 3); !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// TestElasticsearchClient: Elasticsearch's own client accepts the server, and gets the result of each document.
func TestElasticsearchClient(t *testing.T) {
	s := serve(t)
	client, err := elasticsearch.NewClient(elasticsearch.Config{Addresses: []string{"http://" + s.http}, CompressRequestBody: true})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := client.Info(); err != nil || info.IsError() {
		t.Fatal(info, err)
	}
	indexer, err := esutil.NewBulkIndexer(esutil.BulkIndexerConfig{Client: client, Index: "shop-2026.11.23", NumWorkers: 2})
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan string, 10)
	add := func(action, document string) {
		t.Helper()
		err := indexer.Add(t.Context(), esutil.BulkIndexerItem{
			Action: action, DocumentID: "1", Body: bytes.NewReader([]byte(document)),
			OnFailure: func(_ context.Context, _ esutil.BulkIndexerItem, answer esutil.BulkIndexerResponseItem, err error) {
				failed <- fmt.Sprint(answer.Status, " ", answer.Error.Type, err)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("create", `{"@timestamp":"2026-11-23T10:00:00.5Z","log":{"level":"error"},"message":"a","http":{"status":503}}`)
	add("index", `{"@timestamp":"2026-11-23T10:00:01Z","message":"b"}`)
	add("update", `{"doc":{}}`)
	if err := indexer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(failed)
	var refused []string
	for text := range failed {
		refused = append(refused, text)
	}
	if want := []string{"400 illegal_argument_exception<nil>"}; !slices.Equal(refused, want) {
		t.Errorf("refused %q, want %q", refused, want)
	}
	if st := indexer.Stats(); st.NumIndexed != 1 || st.NumCreated != 1 || st.NumFailed != 1 {
		t.Errorf("%+v", st)
	}
	want := []string{"a ERROR 2026-11-23T10:00:00.5Z http.status=503", "b INFO 2026-11-23T10:00:01Z"}
	if got := s.lines(t, "shop", 2); !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}
