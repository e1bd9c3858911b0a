//go:build unix

package engines

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// TestRefused: records that the upstream will never accept are found in their batches, left out and counted; the others arrive.
// Here the collector refuses requests that are too large, and the server that it exports to refuses some records.
func TestRefused(t *testing.T) {
	const no = "no good"
	sink := newSink(t)
	sink.before = func(w http.ResponseWriter, records []exported, _ int) (done bool) {
		for _, r := range records {
			if text(r.Body) == no {
				w.WriteHeader(http.StatusBadRequest)
				return true
			}
		}
		return false
	}
	_, address := collect(t, sink.address, collecting{maxBody: 64 << 10})
	s := serve(t, "otlp://"+address)
	const records = 600
	h := s.handler(t, "api")
	log := slog.New(h)
	for n := range records {
		switch n {
		case 7, 300, 301:
			log.Info(no)
		case 50, records - 1:
			log.Info(strings.Repeat("too large ", 10_000))
		default:
			log.Info(fmt.Sprint("record ", n), "padding", strings.Repeat("x", 300)) // so that a batch is too large as well
		}
	}
	if err := h.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.sentAll(t, 1)
	if f := s.forwards(t)[0]; f.Sent != records-5 || f.Refused != 5 || f.Failure != "" {
		t.Errorf("%d records sent and %d refused, failure %q; want %d and 5", f.Sent, f.Refused, f.Failure, records-5)
	}
	var want []string
	for _, r := range s.kept(t, "api") {
		if strings.HasPrefix(r.Message, "record") {
			want = append(want, r.Identity())
		}
	}
	got := sink.taken()
	for i := range got {
		if i == len(want) || got[i].identity() != want[i] {
			t.Fatalf("record %d that arrives is %s, %s", i+1, got[i].identity(), show(got[i].Body))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d of %d records arrived", len(got), len(want))
	}
}
