package metrics_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestGuide compares the table of the guide with the exported metrics, and checks the queries in its code blocks.
func TestGuide(t *testing.T) {
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	exported := series(t, everything(t), someRequests())
	listed := map[string]bool{}
	row := regexp.MustCompile("(?m)^\\| `(meanwhile_\\w+)` \\| (\\w+)(, of the store)? \\| (.*?) ?\\| (.*) \\|$")
	for _, match := range row.FindAllStringSubmatch(string(text), -1) {
		name, kind, ofStore := match[1], match[2], match[3] != ""
		labels, ok := exported[name]
		if !ok {
			t.Errorf("the guide lists %s, which is not exported", name)
			continue
		}
		listed[name] = true
		want := "gauge"
		if slices.Contains(labels, "le") {
			want = "histogram"
		} else if strings.HasSuffix(name, "_total") {
			want = "counter"
		}
		if kind != want {
			t.Errorf("the guide calls %s a %s, but it is a %s", name, kind, want)
		}
		if got := slices.Contains(fromStore, name); got != ofStore {
			t.Errorf("the guide is wrong about whether %s comes from the store", name)
		}
		var named []string
		for _, label := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(match[4], -1) {
			named = append(named, label[1])
		}
		labels = slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return l == "le" })
		if slices.Sort(named); !slices.Equal(named, labels) {
			t.Errorf("by the guide, %s has the labels %q, but it has %q", name, named, labels)
		}
	}
	for name := range exported {
		if !listed[name] {
			t.Errorf("the guide does not list %s", name)
		}
	}

	queries := 0
	for i, block := range strings.Split(string(text), "```") {
		switch {
		case i%2 == 0 || !strings.HasPrefix(block, "text\n") || !strings.Contains(block, "meanwhile_"):
		case strings.Contains(block, "query: "):
			for _, line := range regexp.MustCompile("(?m)query: (.*)$").FindAllStringSubmatch(block, -1) {
				checkQuery(t, line[1], exported)
				queries++
			}
		default:
			checkQuery(t, strings.TrimPrefix(block, "text\n"), exported)
			queries++
		}
	}
	if queries < 8 {
		t.Errorf("%d queries were found in the guide, want more", queries)
	}
}

// TestOutcomesOfTheGuide finds each outcome and each call in the guide.
func TestOutcomesOfTheGuide(t *testing.T) {
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(everything(t))
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range families {
		for _, one := range f.GetMetric() {
			for _, l := range one.GetLabel() {
				if l.GetName() != "outcome" && l.GetName() != "call" {
					continue
				}
				found++
				if !strings.Contains(string(text), "`"+l.GetValue()+"`") {
					t.Errorf("the guide does not name the %s %s", l.GetName(), l.GetValue())
				}
			}
		}
	}
	if found != 12 {
		t.Errorf("%d outcomes and calls were found, want 7 and 5", found)
	}
}
