package metrics_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// A dashboard is what a test wants to know of Grafana's JSON.
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

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile("../deploy/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatalf("deploy/grafana.json: %v", err)
	}
	return d
}

// TestDashboard checks each query against what the collector exports, and that all of that is shown.
func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	exported := series(t)
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

var (
	metricName = regexp.MustCompile(`\bmeanwhile_[a-z_]+\b(\{[^}]*\})?`)
	matcher    = regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"[^"]*"`)
	grouping   = regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)
)

// checkQuery returns the metrics of a query, after a look at its names, labels and brackets.
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
		t.Errorf("%s: no metric of ours is in it", query)
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

// series returns the names of what a collector with everything exports, and their labels; those of histograms have le.
func series(t *testing.T) map[string][]string {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(everything(t))
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
