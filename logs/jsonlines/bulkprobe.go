package jsonlines

import (
	"io"
	"net/http"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/body"
)

// The responses to the requests that clients send first. The version is one that they accept.
const (
	banner = `{"name":"meanwhile","cluster_name":"meanwhile","version":{"number":"8.17.0","build_flavor":"default",` +
		`"minimum_wire_compatibility_version":"7.17.0","minimum_index_compatibility_version":"7.0.0"},"tagline":"You Know, for Search"}`
	license = `{"license":{"status":"active","uid":"meanwhile","type":"basic","mode":"basic"}}`
	health  = `{"cluster_name":"meanwhile","status":"green","timed_out":false,"number_of_nodes":1,"number_of_data_nodes":1}`
)

// setUp are the path prefixes of requests that set up templates, pipelines and the like, which are not needed here. These requests are
// acknowledged and ignored.
var setUp = []string{"/_ilm/", "/_index_template/", "/_template/", "/_component_template/", "/_ingest/pipeline/", "/_data_stream/"}

// IsBulk reports whether a request is for [BulkHandler]: a bulk request, or one that clients of Elasticsearch send before it. Browsers
// request the path "/" as well: such a request is for BulkHandler if its header Accept names JSON, or if it has the header
// X-Elastic-Client-Meta.
func IsBulk(r *http.Request) bool {
	path := r.URL.Path
	if _, ok := bulkIndex(path); ok || path == "/_license" || path == "/_xpack" || path == "/_cluster/health" {
		return true
	}
	for _, prefix := range setUp {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return path == "/" && (strings.Contains(r.Header.Get("Accept"), "json") || r.Header.Get("X-Elastic-Client-Meta") != "")
}

// probe answers a request that clients send before bulk requests.
func (h *bulk) probe(w http.ResponseWriter, r *http.Request) {
	answer := ""
	switch path := r.URL.Path; {
	case path == "/":
		answer = banner
	case path == "/_license" || path == "/_xpack":
		answer = license
	case path == "/_cluster/health":
		answer = health
	case IsBulk(r):
		answer = `{"acknowledged":true}`
	default:
		failBulk(w, &body.Problem{Status: http.StatusNotFound, Text: "POST bulk requests to /_bulk"})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, answer) // an error means that the client has disconnected
}
