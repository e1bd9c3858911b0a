package metrics_test

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/metrics"
)

func ExampleNewLogs() {
	server := func() server.Stats { // the method Stats of a server
		return server.Stats{Inputs: map[string]server.InputStats{"syslog-tcp": {Open: 2, Records: 17}}}
	}
	answer := httptest.NewRecorder()
	metrics.NewLogs(server).Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "meanwhile_logs_records_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// meanwhile_logs_records_total{input="syslog-tcp"} 17
}

func TestLogs(t *testing.T) {
	services := map[string]server.ServiceTraffic{}
	for i := range 150 {
		services[fmt.Sprint("service ", i)] = server.ServiceTraffic{Records: 2, Limited: 1}
	}
	m := metrics.NewLogs(func() server.Stats {
		return server.Stats{
			Inputs:   map[string]server.InputStats{"own": {Open: 1, Connections: 3, Records: 300, Bytes: 5000, Refused: map[string]int64{"too long \x1b[2J": 4}, Repaired: map[string]int64{"not UTF-8": 5}}},
			Services: services,
			Alerts:   []server.AlertStats{{Name: "errors", Firing: true, Fired: 3}, {Name: "slow"}},
			Outputs:  []server.OutputStats{{Name: "a.log", Waiting: 7, Lost: 2, Failure: "disk full"}, {Name: "store"}},
		}
	})
	for range 2 { // the services keep their places
		if n := testutil.CollectAndCount(m, "meanwhile_logs_service_records_total"); n != metrics.MaxLabels+1 {
			t.Errorf("got %d services, want %d and other", n, metrics.MaxLabels)
		}
	}
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`meanwhile_logs_connections{input="own"} 1`, `meanwhile_logs_connections_total{input="own"} 3`, `meanwhile_logs_records_total{input="own"} 300`,
		`meanwhile_logs_service_records_total{service="other"} 100`, `meanwhile_logs_service_limited_total{service="other"} 50`,
		`meanwhile_logs_output_up{output="a.log"} 0`, `meanwhile_logs_output_up{output="store"} 1`, `meanwhile_logs_output_waiting{output="a.log"} 7`,
		`meanwhile_logs_output_lost_total{output="a.log"} 2`, `meanwhile_logs_repaired_total{input="own",reason="not UTF-8"} 5`,
		`meanwhile_logs_alert_firing{alert="errors"} 1`, `meanwhile_logs_alert_firing{alert="slow"} 0`, `meanwhile_logs_alert_fired_total{alert="errors"} 3`,
	} {
		if !strings.Contains(answer.Body.String(), want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	if problems, err := testutil.CollectAndLint(m); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

// TestLogsOfForgottenServices: a log server with many services forgets those that are silent. Their records stay counted, and those of a service
// that comes back are added.
func TestLogsOfForgottenServices(t *testing.T) {
	var services map[string]server.ServiceTraffic
	m := metrics.NewLogs(func() server.Stats { return server.Stats{Services: services} })
	collect := func(beyond map[string]server.ServiceTraffic, records, limited, cut int64) {
		t.Helper()
		services = maps.Clone(beyond)
		for i := range metrics.MaxLabels {
			services[fmt.Sprint("service ", i)] = server.ServiceTraffic{Records: 1}
		}
		answer := httptest.NewRecorder()
		m.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
		for _, want := range []string{
			fmt.Sprintf(`meanwhile_logs_service_records_total{service="other"} %d`, records),
			fmt.Sprintf(`meanwhile_logs_service_limited_total{service="other"} %d`, limited),
			fmt.Sprintf(`meanwhile_logs_service_cut_total{service="other"} %d`, cut),
			`meanwhile_logs_service_records_total{service="service 0"} 1`,
		} {
			if records > 0 && !strings.Contains(answer.Body.String(), want+"\n") {
				t.Errorf("%s is missing", want)
			}
		}
	}
	type traffic = map[string]server.ServiceTraffic
	collect(traffic{}, 0, 0, 0) // the places are taken
	collect(traffic{"a": {Records: 5, Limited: 2, Cut: 1}, "b": {Records: 7}}, 12, 2, 1)
	collect(traffic{"b": {Records: 7}}, 12, 2, 1)
	collect(traffic{"a": {Records: 1}, "b": {Records: 8, Cut: 3}}, 14, 2, 4)
	collect(traffic{"b": {Records: 2}}, 16, 2, 4)
}
