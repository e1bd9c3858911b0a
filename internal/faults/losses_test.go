//go:build unix

package main

import (
	"errors"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// TestLosses kills servers that sync each write: no acknowledged job is lost. A store that acknowledges jobs without storing them is reported. After
// a failover, losses are counted but are no violation.
func TestLosses(t *testing.T) {
	testenv.LongTest(t)
	testenv.Program(t, "redis-server")
	for _, test := range []struct {
		kind, aof string
		loses     bool
		want      error
	}{
		{"always", "", false, nil},
		{"always", "forget", true, errViolated},
		{"failover", "forget", true, nil},
	} {
		out, err := func() (string, error) {
			if test.aof != "" {
				whole := wrapStore
				wrapStore = breakers[test.aof]
				defer func() { wrapStore = whole }()
			}
			return prove(t, "", "-store", "redis", "-for", "1s", "-losses", test.kind)
		}()
		if !errors.Is(err, test.want) {
			t.Errorf("%s, %s: got %v, want %v", test.kind, test.aof, err, test.want)
		}
		if lost := figure(t, out, "of these lost"); (lost > 0) != test.loses || figure(t, out, countAcknowledged) == 0 {
			t.Errorf("%s, %s: %d jobs are lost:\n%s", test.kind, test.aof, lost, out)
		}
	}
}
