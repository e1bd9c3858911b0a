package metrics_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/metrics"
)

// A dashboard has the parts of Grafana's JSON that the tests check.
type dashboard struct {
	Title      string
	Templating struct {
		List []struct{ Name, Definition string }
	}
	Panels []struct {
		ID      int
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr, LegendFormat string }
	}
}

func readDashboard(t *testing.T, file string) dashboard {
	t.Helper()
	text, err := os.ReadFile("../deploy/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatalf("deploy/%s: %v", file, err)
	}
	return d
}

// TestDashboards checks each query against the exported metrics, and that all of these are shown.
func TestDashboards(t *testing.T) {
	for file, exported := range map[string]map[string][]string{
		"grafana.json":      series(t, everything(t), someRequests()),
		"grafana-logs.json": series(t, someLogs()),
	} {
		t.Run(file, func(t *testing.T) { checkDashboard(t, readDashboard(t, file), exported) })
	}
}

func checkDashboard(t *testing.T, d dashboard, exported map[string][]string) {
	t.Helper()
	shown := map[string]bool{}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if p.Title == "" || len(p.Targets) == 0 || ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.H == 0 {
			t.Errorf("panel %d %q: its title, queries, number or place is wrong", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			for _, name := range checkQuery(t, target.Expr, exported) {
				shown[name] = true
			}
			for _, label := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if !regexp.MustCompile(`by \([^)]*\b` + label[1] + `\b`).MatchString(target.Expr) {
					t.Errorf("panel %q: the legend has the label %s, by which %s does not group", p.Title, label[1], target.Expr)
				}
			}
		}
	}
	for _, v := range d.Templating.List {
		if v.Definition != "" {
			checkQuery(t, v.Definition, exported)
		}
	}
	for name := range exported {
		if !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// TestRules checks the alerts against the exported metrics, and against those of the guide.
func TestRules(t *testing.T) {
	text, err := os.ReadFile("../deploy/prometheus-rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	exported := series(t, everything(t), someRequests(), someLogs())
	rules := regexp.MustCompile(`(?m)^      - alert: (\w+)\n        expr: (.*)\n(?:        for: \d+m\n)?        labels: \{severity: (?:warning|critical)\}\n        annotations:\n          summary: "(.*)"$`).FindAllStringSubmatch(string(text), -1)
	if n := strings.Count(string(text), "alert:"); n != len(rules) || n < 10 {
		t.Errorf("%d of %d alerts have the expected form", len(rules), n)
	}
	queries := map[string]bool{}
	for _, rule := range rules {
		checkQuery(t, rule[2], exported)
		queries[rule[2]] = true
		for _, label := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(rule[3], -1) {
			if !regexp.MustCompile(`by \([^)]*\b` + label[1] + `\b`).MatchString(rule[2]) {
				t.Errorf("%s: the summary has the label %s, by which %s does not group", rule[1], label[1], rule[2])
			}
		}
	}
	guide, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, alerts, _ := strings.Cut(string(guide), "## Alerts worth having")
	alerts, _, _ = strings.Cut(alerts, "\n## ")
	for i, block := range strings.Split(alerts, "```") {
		if query := strings.Join(strings.Fields(strings.TrimPrefix(block, "text\n")), " "); i%2 == 1 && !queries[query] {
			t.Errorf("the guide has an alert that the rules do not have: %s", query)
		}
	}
}

var (
	metricName = regexp.MustCompile(`\bmeanwhile_[a-z_]+\b(\{[^}]*\})?`)
	matcher    = regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"[^"]*"`)
	grouping   = regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)
)

// checkQuery returns the metrics of a query, and checks its names, labels and brackets.
func checkQuery(t *testing.T, query string, exported map[string][]string) []string {
	t.Helper()
	var found []string
	allowed := []string{"le", "instance", "job"}
	for _, match := range metricName.FindAllStringSubmatch(query, -1) {
		full, _, _ := strings.Cut(match[0], "{")
		name := full
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, suffix)
		}
		labels, ok := exported[name]
		if !ok || full != name && !slices.Contains(labels, "le") {
			t.Errorf("%s: %s is not exported", query, full)
			continue
		}
		for _, m := range matcher.FindAllStringSubmatch(match[1], -1) {
			if !slices.Contains(labels, m[1]) && !slices.Contains(allowed, m[1]) {
				t.Errorf("%s: %s has no label %s", query, name, m[1])
			}
		}
		found = append(found, name)
		allowed = append(allowed, labels...)
	}
	if len(found) == 0 {
		t.Errorf("%s: it contains none of our metrics", query)
	}
	for _, match := range grouping.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(match[1], ", ") {
			if !slices.Contains(allowed, label) {
				t.Errorf("%s: none of its metrics has the label %s", query, label)
			}
		}
	}
	for _, brackets := range []string{"()", "{}", "[]"} {
		if strings.Count(query, brackets[:1]) != strings.Count(query, brackets[1:]) {
			t.Errorf("%s: its %s do not match", query, brackets)
		}
	}
	return found
}

// someRequests returns a collector of requests that has a value of each metric.
func someRequests() *metrics.HTTP {
	m := metrics.NewHTTP(func(*http.Request) string { return "api" })
	m.Wrap(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	m.SignInFailed("password")
	return m
}

// someLogs returns a collector of a log server that has a value of each metric.
func someLogs() *metrics.Logs {
	return metrics.NewLogs(func() server.Stats {
		return server.Stats{
			Inputs:   map[string]server.InputStats{"own": {Refused: map[string]int64{"too long": 1}, Repaired: map[string]int64{"not UTF-8": 1}}},
			Services: map[string]server.ServiceTraffic{"shop": {}},
			Outputs:  []server.OutputStats{{Name: "store"}},
		}
	})
}

// series returns the names of the metrics that collectors export, and their labels; those of histograms have le.
func series(t *testing.T, collectors ...prometheus.Collector) map[string][]string {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(collectors...)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{}
	for _, f := range families {
		one := f.GetMetric()[0]
		labels := map[string]bool{}
		for _, l := range one.GetLabel() {
			labels[l.GetName()] = true
		}
		if one.GetHistogram() != nil {
			labels["le"] = true
		}
		names[f.GetName()] = slices.Sorted(maps.Keys(labels))
	}
	return names
}
