// Command meanwhile shows what the toolkit of the same name is for: "meanwhile demo" indexes documents in three ways and
// compares them, "meanwhile fetch" fetches many URLs at once, "meanwhile jobs" and "meanwhile work" do work that outlives
// its process, "meanwhile serve" shows it, "meanwhile logs" gathers what many processes log, "meanwhile top" and "meanwhile tree" show the tasks of a running program.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/fetch"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/inspect"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/interrupt"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/jobs"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/logs"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/send"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/serve"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/top"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/tree"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/work"
	"github.com/meanwhile-go/meanwhile/job/httprequest"
)

// The exit codes, beside 0.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

type commands struct {
	Version kong.VersionFlag `help:"Print the version and exit."`

	Demo  demo.Command  `cmd:"" help:"Index 1,000 documents in three ways, and compare."`
	Fetch fetch.Command `cmd:"" help:"Fetch many URLs at once."`
	Jobs  jobs.Command  `cmd:"" help:"Enqueue durable jobs, look at them and act on them."`
	Work  work.Command  `cmd:"" help:"Run the jobs of HTTP requests."`
	Logs  logs.Command  `cmd:"" help:"Gather what many processes log."`
	Serve serve.Command `cmd:"" help:"Serve the dashboard and the HTTP API of a store, and run its jobs."`
	Top   top.Command   `cmd:"" help:"Watch the tasks of a running program."`
	Tree  tree.Command  `cmd:"" help:"Print the tasks of a running program once."`
}

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is the command; it returns its exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	answered := false // by --help or --version
	var cli commands
	parser, err := kong.New(&cli,
		kong.Name("meanwhile"),
		kong.Description("Work that waits, many waits at once."),
		kong.Vars{"version": version(), "httprequest": httprequest.Kind.Name()},
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { answered = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
	if err != nil {
		panic(err) // the structs above are wrong
	}
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
		if selected := context.Selected(); selected != nil && oneDash.MatchString(err.Error()) && slices.ContainsFunc(selected.Positional, isFilter) {
			err = fmt.Errorf("%w; a filter that begins with - stands behind --, or begins with not instead", err)
		}
		return fail(stderr, context, &inspect.UsageError{Err: err})
	}
	return fail(stderr, context, context.Run(
		fetch.Streams{In: stdin, Out: stdout, Err: stderr},
		inspect.Streams{In: stdin, Out: stdout, Err: stderr},
	))
}

// oneDash is what kong says of an argument such as -level=debug.
var oneDash = regexp.MustCompile("^unknown flag -[^-]")

// isFilter reports whether an argument is a filter of records, in which - negates.
func isFilter(argument *kong.Positional) bool { return argument.Name == "filter" }

// fail prints what err has to say and returns its exit code. The context names the command.
func fail(stderr io.Writer, context *kong.Context, err error) int {
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
	fmt.Fprintf(stderr, "meanwhile: %v\n", err)
	_, wrong := errors.AsType[*fetch.UsageError](err)
	if _, ok := errors.AsType[*inspect.UsageError](err); ok || wrong {
		command := "meanwhile"
		if selected := context.Selected(); selected != nil {
			command = selected.FullPath()
		}
		fmt.Fprintf(stderr, "See: %s --help\n", command)
		return exitUsage
	}
	return exitFailed
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "meanwhile (devel)"
	}
	return "meanwhile " + info.Main.Version
}
