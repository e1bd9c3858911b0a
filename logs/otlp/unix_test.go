//go:build unix

package otlp

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/logs/forward"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
)

// TestOutputToHandler forwards records to a handler through connections that are cut. The handler gets all records that are acknowledged.
func TestOutputToHandler(t *testing.T) {
	var f logtest.Recorder
	server := httptest.NewServer(Handler(func(*http.Request) input.Batcher { return &f }))
	defer server.Close()
	logtest.TestOutput(t, logtest.OtherSide{
		Address: strings.TrimPrefix(server.URL, "http://"),
		Open: func(t *testing.T, address string) forward.Output {
			output, err := NewOutput("http://"+address, nil)
			if err != nil {
				t.Fatal(err)
			}
			return output
		},
		Kept: func(*testing.T, ...string) (kept []logtest.Identity) {
			for _, r := range f.Records() {
				i := slices.IndexFunc(r.Attrs, func(a slog.Attr) bool { return a.Key == identityKey })
				kept = append(kept, logtest.Identity{Service: r.Service, Identity: r.Attrs[i].Value.String()})
			}
			return kept
		},
	})
}
