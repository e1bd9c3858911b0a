package main

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestHelp reads the help of every command: it fits 80 columns, has no colors, and is the same with "help" in front.
func TestHelp(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	help := func(args ...string) string {
		var out, errs strings.Builder
		if code := run(args, strings.NewReader(""), &out, &errs); code != 0 || errs.Len() > 0 {
			t.Errorf("%q: exit code %d, %s", args, code, errs.String())
		}
		return out.String()
	}
	parser := newParser(subcommands(nil), io.Discard, io.Discard, func() {})
	for _, command := range parser.Model.Leaves(true) {
		path := strings.Fields(command.Path())
		text := help(append(path, "--help")...)
		if got := help(append([]string{"help"}, path...)...); got != text {
			t.Errorf("help %s and %[1]s --help differ", command.Path())
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > 80 || strings.Contains(line, "\x1b") {
				t.Errorf("%s --help: wider than 80 columns, or with colours: %q", command.Path(), line)
			}
		}
	}
}

// TestUnknownFlag: the message names the flag that is meant, and no other.
func TestUnknownFlag(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"fetch --fro urls.txt", `unknown flag --fro, did you mean "--from"?`},
		{"fetch -from urls.txt", `unknown flag -from, did you mean "--from"?`},
		{"fetch -from=urls.txt", `unknown flag -from, did you mean "--from"?`},
		{"serve -listen :1", `unknown flag -listen, did you mean "--listen"?`},
		{"jobs list -version", `unknown flag -version, did you mean "--version"?`},
		{"fetch -frob urls.txt", `unknown flag -f`},
		{"fetch -sf", `unknown flag -f`},
		{"fetch --n 3", `unknown flag --n, did you mean "-n"?`},
		{"fetch --x 3", `unknown flag --x, did you mean "--max"?`},
		{"jobs list --s x", `unknown flag --s, did you mean one of "--store", "--state"?`},
		{"logs find -5", `unknown flag -5; put a filter that starts with - after --, or start it with not instead`},
	} {
		var out, errs strings.Builder
		code := run(strings.Fields(test.args), strings.NewReader(""), &out, &errs)
		got, _, _ := strings.Cut(errs.String(), "\n")
		if got != "meanwhile: "+test.want || code != exitUsage {
			t.Errorf("%s: exit code %d, %s\nwant %s", test.args, code, got, test.want)
		}
	}
}

// TestUnknownCommand: the message names the command that is meant, or all of them.
func TestUnknownCommand(t *testing.T) {
	const all = "demo, fetch, jobs, work, logs, serve, top, tree, version"
	for _, test := range []struct{ args, want string }{
		{"bogus", "unknown command bogus: there are " + all},
		{"bogus --help", "unknown command bogus: there are " + all},
		{"help bogus", "unknown command bogus: there are " + all},
		{"job", `unknown command job, did you mean "jobs"?`},
		{"log find x", `unknown command log, did you mean "logs"?`},
		{"sevre", `unknown command sevre, did you mean "serve"?`},
		{"jobs lst", `unknown command lst, did you mean "list"?`},
		{"logs serv", `unknown command serv, did you mean one of "serve", "services"?`},
		{"logs x", "unknown command x: there are serve, send, find, tail, services, stats"},
		{"logs", "a command is missing: there are serve, send, find, tail, services, stats"},
		{"--verbose", "unknown flag --verbose"},
		{"version x", "unexpected argument x"},
		{"jobs enqueue", "the argument <kind> is missing"},
		{"jobs limit", "the argument <queue> is missing"},
	} {
		var out, errs strings.Builder
		code := run(strings.Fields(test.args), strings.NewReader(""), &out, &errs)
		got, _, _ := strings.Cut(errs.String(), "\n")
		if got != "meanwhile: "+test.want || code != exitUsage {
			t.Errorf("%s: exit code %d, %s\nwant %s", test.args, code, got, test.want)
		}
	}
}
