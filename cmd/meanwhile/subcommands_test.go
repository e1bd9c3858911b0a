package main

import (
	"slices"
	"testing"
)

// TestSubcommands: starting a command does not parse the flags of the others.
func TestSubcommands(t *testing.T) {
	all := []string{"demo", "fetch", "jobs", "work", "logs", "serve", "top", "tree", "version"}
	for _, test := range []struct{ args, want []string }{
		{nil, all},
		{[]string{"--help"}, all},
		{[]string{"--help", "jobs"}, all},
		{[]string{"job"}, all},
		{[]string{"version"}, []string{"version"}},
		{[]string{"jobs", "list", "version"}, []string{"jobs"}},
	} {
		var got []string
		for _, c := range subcommands(test.args) {
			got = append(got, c.name)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.args, got, test.want)
		}
	}
}
