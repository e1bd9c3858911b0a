package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// A privateWord is one that this project once used where the field has a term, and the terms to use instead. A reader who searches
// for the term does not find a text with the private word.
type privateWord struct {
	word    *regexp.Regexp
	instead string
}

// privateWords are in no guide, no help and no doc comment.
var privateWords = []privateWord{
	{word(`deaf`), "ignores cancellation"},
	{regexp.MustCompile(`--open\b`), "--no-auth"},
	{regexp.MustCompile(`--cull\b`), "--dedupe"},
	{word(`strays?`), "leaked goroutine"},
	{word(`far side`), "the upstream, the server"},
	{word(`(a|an|the|each|every|one) look|look(s|ed|ing)? into`), "snapshot, inspect"},
	{word(`ways? in`), "input, receiver"},
	{word(`onwards?`), "forwarding, output"},
	{word(`tells|telling|told`), "report, describe, return"},
	{word(`obey(s|ed)?`), "follow, canceled by a parent"},
	{word(`turned files?|files? (is|are) turned`), "rotated"},
	{word(`mend(s|ed|ing)?`), "fix, repair"},
	{word(`puts? (it |them |the others )?back`), "release (back to the queue)"},
	{word(`hunt(s|ed|ing)?`), "background search"},
	{word(`hungry`), "has capacity"},
	{word(`grove`), "registry"},
	{word(`sightings?`), "last seen"},
	{word(`spells?`), "period"},
	{word(`joiners?|acquirers?|sleepers?|parkers?`), "a task that waits, waiter"},
	{word(`painters?|sketch(es)?`), "snapshot builder"},
	{word(`confess(es|ed)?`), "report drops"},
	{word(`heirs?`), "take over an abandoned spool"},
	{word(`(server|servers) of logs`), "log server"},
	{word(`outlives?|outlived`), "survive"},
	{word(`nobody('s)?`), "no client, no one: name who"},
	{word(`whoever`), "name who"},
	{word(`lets? (in|everybody)|lets? \w+ in`), "allow, authenticate"},
}

// newcomersWords are words of an everyday sentence, which a text that is read first does without.
var newcomersWords = []privateWord{
	{word(`look(s|ed|ing)? at`), "snapshot, inspect"},
	{word(`acts?|acted`), "action, bulk action, result"},
	{word(`tell`), "report, describe, return"},
	{word(`spared|died`), "uncounted attempts, crashed attempts"},
	{word(`left behind`), "leaked"},
	{word(`is well|are well`), "healthy"},
}

func word(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(` + pattern + `)\b`) }

// newcomerGuides are read by those who do not know the project yet.
var newcomerGuides = []string{"../README.md", "README.md", "getting-started.md", "tutorial.md", "howto.md", "demo.md", "streams.md", "../examples/README.md", "../SECURITY.md"}

// TestWordsOfGuides finds private words in the guides, and everyday ones in the texts that a newcomer reads first.
func TestWordsOfGuides(t *testing.T) {
	for _, guide := range newcomerGuides {
		text, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		checkWords(t, filepath.Base(guide), string(text), privateWords, newcomersWords)
	}
	for _, guide := range guides(t) {
		text, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		checkWords(t, filepath.Base(guide), code.ReplaceAllString(string(text), ""), privateWords) // code is checked where it is quoted from
	}
}

// TestWordsOfExamples does so in the comments that say what the examples show.
func TestWordsOfExamples(t *testing.T) {
	mains, err := filepath.Glob("../examples/*/main.go")
	if err != nil || len(mains) == 0 {
		t.Fatalf("got %d examples, %v", len(mains), err)
	}
	for _, main := range mains {
		text, err := os.ReadFile(main)
		if err != nil {
			t.Fatal(err)
		}
		comment, _, ok := strings.Cut(string(text), "\npackage main\n")
		if !ok {
			t.Fatalf("%s has no package main", main)
		}
		checkWords(t, strings.TrimPrefix(filepath.ToSlash(main), "../"), strings.ReplaceAll(comment, "\n//", "\n"), privateWords, newcomersWords)
	}
}

// TestWordsOfHelp finds private words in the help of the command and of each of its commands.
func TestWordsOfHelp(t *testing.T) {
	testenv.LongTest(t)
	binary := putCommand(t, t.TempDir())
	help := func(command string) string {
		run := exec.Command(binary, append(strings.Fields(command), "--help")...)
		run.Env = append(os.Environ(), "COLUMNS=80")
		out, err := run.CombinedOutput()
		if err != nil {
			t.Fatalf("meanwhile %s --help: %v\n%s", command, err, out)
		}
		checkWords(t, strings.TrimSpace("meanwhile "+command)+" --help", string(out), privateWords, newcomersWords)
		return string(out)
	}
	_, list, ok := strings.Cut(help(""), "\nCommands:\n")
	commands := helpCommand.FindAllStringSubmatch(list, -1)
	if !ok || len(commands) < 10 {
		t.Fatalf("the help lists %d commands:\n%s", len(commands), list)
	}
	groups := map[string]bool{}
	for _, match := range commands {
		if group, _, ok := strings.Cut(match[1], " "); ok && !groups[group] {
			groups[group] = true
			help(group)
		}
		help(match[1])
	}
}

// helpCommand is a line in the list of commands.
var helpCommand = regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z]+)?)  +\S`)

// checkWords fails for each word of the lists in a text. Lines are joined, since a word may be broken.
func checkWords(t *testing.T, name, text string, lists ...[]privateWord) {
	t.Helper()
	text = strings.Join(strings.Fields(text), " ")
	for _, private := range slices.Concat(lists...) {
		for _, at := range private.word.FindAllStringIndex(text, -1) {
			t.Errorf("%s: %q is a private word: write: %s\n\t…%s…", name, text[at[0]:at[1]], private.instead,
				strings.ToValidUTF8(text[max(0, at[0]-40):min(len(text), at[1]+40)], ""))
		}
	}
}

// TestWordsViolations holds the patterns to what they are for.
func TestWordsViolations(t *testing.T) {
	for text, want := range map[string]bool{
		"a stray is told of by a look at the tree":       true,
		"Believed by Nobody's password":                  true,
		"served with --open, without users":              true,
		"it takes what the far\nside can take":           true,
		"strange, retold, actual; the exact look up":     false,
		"Reports leaked goroutines and an open deadlock": false,
	} {
		text, got := strings.Join(strings.Fields(text), " "), false
		for _, private := range slices.Concat(privateWords, newcomersWords) {
			got = got || private.word.MatchString(text)
		}
		if got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
