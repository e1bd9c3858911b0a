package main

import (
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/alecthomas/kong"
)

// sharedVariables are variables that set flags with different names or help texts but the same meaning.
var sharedVariables = map[string]bool{
	"MEANWHILE_LOGS_CA":         true, // --ca of logs find and others, --logs-ca of serve
	"MEANWHILE_LOGS_TLS_CERT":   true, // --tls-cert there, --logs-tls-cert here
	"MEANWHILE_LOGS_TLS_KEY":    true, // --tls-key there, --logs-tls-key here
	"MEANWHILE_LOGS_TOKEN_FILE": true, // --token-file there, --logs-token-file here
}

// TestVariablesHaveOneMeaning fails if two commands use an environment variable for different things.
func TestVariablesHaveOneMeaning(t *testing.T) {
	meanings := map[string]map[string]bool{}
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		for _, flag := range n.Flags {
			for _, variable := range flag.Envs {
				if meanings[variable] == nil {
					meanings[variable] = map[string]bool{}
				}
				meanings[variable]["--"+flag.Name+": "+flag.Help] = true
			}
		}
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(newParser(subcommands(nil), io.Discard, io.Discard, func() {}).Model.Node)
	if len(meanings) < 20 {
		t.Errorf("found only %d variables", len(meanings))
	}
	for variable, flags := range meanings {
		if len(flags) > 1 != sharedVariables[variable] {
			t.Errorf("%s has the meanings %q", variable, slices.Sorted(maps.Keys(flags)))
		}
	}
}
