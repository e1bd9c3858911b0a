// Package top is the command "meanwhile top".
package top

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

// A Command has the flags of "meanwhile top", filled in by kong.
type Command struct {
	probe.Target
	Every time.Duration `default:"1s" placeholder:"TIME" help:"Refresh this long after each response (default ${default})."`
	Token string        `env:"MEANWHILE_CANCEL_TOKEN" placeholder:"TOKEN" help:"Token that the program requires to cancel a task: CancelToken of its live.Config. Other users of the machine may see a flag, but not the environment."`
}

// Help is the text above the flags.
func (*Command) Help() string {
	return `Shows the task tree of a running Go program, and what each task waits for: since when, and at which line. Press q to
quit, ? for the keys. The program has to mount live.Handler, usually at /debug/meanwhile. "meanwhile tree" prints the tasks
once.

Up to 10,000 tasks are shown, those near the root first; the others are counted. A response of more than 256 MB is refused.

Exit codes: 0 quit with q, 1 no usable response, 2 usage error or no terminal, 130 interrupted by a signal.`
}

// ErrInterrupted is the error of Run after a signal, when there is nothing left to report.
var ErrInterrupted = errors.New("interrupted")

const leastEvery = 100 * time.Millisecond

// Run shows the tasks until the user quits. It waits for the first answer before it switches to the full screen, so that an error
// about a wrong address stays visible.
func (c *Command) Run(streams probe.Streams) error {
	if c.Every < leastEvery {
		return &probe.UsageError{Err: fmt.Errorf("--every: give %v or more", leastEvery)}
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	in, out, err := terminal(streams)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	do := func(r request) tea.Cmd { return func() tea.Msg { return r.run(ctx, client, c.Token) } }
	first := request{kind: snapshotRequest}.run(ctx, client, c.Token)
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	if first.err != nil {
		return first.err
	}
	m := newModel(client.String(), c.Every, c.Token != "", do)
	m.receive(first)
	_, err = tea.NewProgram(m, tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithInput(in), tea.WithOutput(out),
		tea.WithEnvironment(environment())).Run()
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	if err != nil {
		return fmt.Errorf("show the tasks: %w", err)
	}
	return nil
}

func terminal(streams probe.Streams) (in, out *os.File, err error) {
	in, isFile := streams.In.(*os.File)
	out, isFileToo := streams.Out.(*os.File)
	if !isFile || !isFileToo || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, nil, &probe.UsageError{Err: errors.New("top needs a terminal; use: meanwhile tree")}
	}
	return in, out, nil
}

// environment returns the environment of the process, with a NO_COLOR that bubbletea understands: any value means no color, see no-color.org.
func environment() []string {
	environment := os.Environ()
	if os.Getenv("NO_COLOR") != "" {
		environment = append(environment, "NO_COLOR=1")
	}
	return environment
}
