// Command meanwhile runs and inspects durable background jobs ("meanwhile jobs", "meanwhile work"), serves the dashboard,
// HTTP API and metrics for them ("meanwhile serve"), collects and searches the logs of many processes ("meanwhile logs"),
// shows the tasks of a running Go program ("meanwhile top", "meanwhile tree"), and fetches many URLs concurrently
// ("meanwhile fetch"). "meanwhile demo" compares sequential with concurrent work.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/fetch"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/interrupt"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/jobs"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/logs"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/send"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/serve"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/settings"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/top"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/tree"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/version"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/work"
	"github.com/meanwhile-go/meanwhile/job/httprequest"
)

// The exit codes other than 0.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// A subcommand is a subcommand of the program, with the struct of its flags.
type subcommand struct {
	name, help string
	grammar    any
}

// subcommands returns the subcommand that the first argument names, or all: parsing the flags of all takes longer than most commands run.
func subcommands(args []string) []subcommand {
	all := []subcommand{
		{"demo", "Start here: 1,000 tasks beside 3 workers, and a dashboard.", new(demo.Command)},
		{"fetch", "Fetch many URLs concurrently, with limits, rates and retries.", new(fetch.Command)},
		{"jobs", "Enqueue, inspect and manage durable background jobs.", new(jobs.Command)},
		{"work", "Run a worker for jobs that are HTTP requests.", new(work.Command)},
		{"logs", "Collect, search and follow the logs of many processes.", new(logs.Command)},
		{"serve", "Serve the dashboard, HTTP API and metrics; run a worker.", new(serve.Command)},
		{"top", "Show the tasks of a running Go program, live.", new(top.Command)},
		{"tree", "Print the tasks of a running Go program once.", new(tree.Command)},
		{"version", "Print the version, revision and Go version.", new(version.Command)},
	}
	for i, c := range all {
		if len(args) > 0 && c.name == args[0] {
			return all[i : i+1]
		}
	}
	return all
}

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// newParser returns the parser of a command line with these subcommands. It calls answered after --help or --version.
func newParser(subcommands []subcommand, stdout, stderr io.Writer, answered func()) *kong.Kong {
	var flags struct {
		PrintVersion kong.VersionFlag `name:"version" help:"Print the version and exit."`
	}
	options := []kong.Option{
		kong.Name("meanwhile"),
		kong.Description("Structured concurrency, durable background jobs, log collection and a dashboard for Go."),
		kong.Vars{"version": version.Line(), "httprequest": httprequest.Kind.Name()},
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { answered() }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	}
	for _, c := range subcommands {
		options = append(options, kong.DynamicCommand(c.name, c.help, "", c.grammar))
	}
	parser, err := kong.New(&flags, options...)
	if err != nil {
		panic(err) // the flags of a command are invalid
	}
	return parser
}

// run runs the command and returns its exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "help" { // as in meanwhile help fetch, which is common in other commands
		args = append(slices.Clone(args[1:]), "--help")
	}
	answered := false // by --help or --version
	parser := newParser(subcommands(args), stdout, stderr, func() { answered = true })
	if len(args) == 0 {
		parser.Stdout = stderr
		_, _ = parser.Parse([]string{"--help"})
		return exitUsage
	}
	context, err := parser.Parse(args)
	if answered {
		return 0
	}
	if err != nil {
		if parse, ok := errors.AsType[*kong.ParseError](err); ok {
			context = parse.Context
		}
		selected := context.Selected()
		err = nameCommands(suggest(err, args, context.Flags()), cmp.Or(selected, context.Model.Node))
		if selected != nil && oneDash.MatchString(err.Error()) && slices.ContainsFunc(selected.Positional, isFilter) {
			err = fmt.Errorf("%w; put a filter that starts with - after --, or start it with not instead", err)
		}
		return fail(stderr, context, args, &probe.UsageError{Err: settings.Plainly(err)})
	}
	err = context.Run(
		fetch.Streams{In: stdin, Out: stdout, Err: stderr},
		probe.Streams{In: stdin, Out: stdout, Err: stderr},
	)
	return fail(stderr, context, args, settings.WithVariables(context, err))
}

// oneDash matches kong's error about an argument such as -level=debug.
var oneDash = regexp.MustCompile("^unknown flag -[^-]")

// isFilter reports whether an argument is a filter of records, in which - means not.
func isFilter(argument *kong.Positional) bool { return argument.Name == "filter" }

// fail prints the text of err and returns its exit code. The context names the command; errors quote the arguments.
func fail(stderr io.Writer, context *kong.Context, args []string, err error) int {
	if err == nil {
		return 0
	}
	if errors.Is(err, fetch.ErrInterrupted) || errors.Is(err, top.ErrInterrupted) || errors.Is(err, interrupt.Err) {
		return exitInterrupted
	}
	if errors.Is(err, fetch.ErrFailed) {
		return exitFailed
	}
	if exit, ok := errors.AsType[*send.ExitError](err); ok {
		if exit.Err != nil {
			fmt.Fprintf(stderr, "meanwhile: %v\n", exit)
		}
		return exit.Code
	}
	fmt.Fprintf(stderr, "meanwhile: %s\n", withoutPasswords(err.Error(), args))
	_, wrong := errors.AsType[*fetch.UsageError](err)
	if _, ok := errors.AsType[*probe.UsageError](err); ok || wrong {
		command := "meanwhile"
		if selected := context.Selected(); selected != nil {
			command = selected.FullPath()
		}
		fmt.Fprintf(stderr, "See: %s --help\n", command)
		return exitUsage
	}
	return exitFailed
}

// password matches a password in an argument, as in a database URL in the wrong place.
var password = regexp.MustCompile(`(://[^\s/@":]*:)[^\s"]*(@)|(?i:(\bpassword\s*=\s*)[^\s"]+)`)

// withoutPasswords returns a text that quotes arguments without the passwords in them.
func withoutPasswords(text string, args []string) string {
	for _, arg := range args {
		for _, secret := range password.FindAllString(arg, -1) {
			text = strings.ReplaceAll(text, secret, password.ReplaceAllString(secret, "${1}${3}xxxxx${2}"))
		}
	}
	return text
}
