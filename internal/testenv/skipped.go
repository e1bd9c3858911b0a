package testenv

import (
	"maps"
	"slices"
	"strings"
)

// Skipped returns one line of text that names the tests that skip on this machine and where to read how to run them, or "" if all of them run.
func Skipped() string {
	var absent []string
	for _, n := range []Need{PostgreSQL, NATS} {
		if n.Find() != nil {
			absent = append(absent, n.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		if _, err := findProgram(name); err != nil {
			absent = append(absent, name)
		}
	}
	for _, n := range []Need{InitDB, FakeTime, Locales, C, VictoriaLogs} {
		if n.Find() != nil {
			absent = append(absent, n.Name)
		}
	}
	var tests []string
	if !Long() {
		tests = append(tests, "those that take long (MEANWHILE_LONG=1 runs them)")
	}
	if len(absent) > 0 {
		tests = append(tests, "those that need "+strings.Join(absent, ", "))
	}
	if len(tests) == 0 {
		return ""
	}
	return "skipped tests: " + strings.Join(tests, "; ") + `. See CONTRIBUTING.md, "Build, test, check".`
}
