package process

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A Config configures how [Main] runs a program. The zero value uses the defaults.
type Config struct {
	// Grace is how long Main waits after the first signal for the tasks to end. The default is 8 s: less than the 10 s after
	// which Docker kills the process, with time left to print the tasks that did not end. A second signal exits immediately.
	Grace time.Duration
}

// Main is the body of func main: it calls fn in a scope, as [meanwhile.Run] does, and exits according to the outcome.
//
//	func main() { process.Main(run) }
//
// The first INT (ctrl-C) or TERM cancels the scope; the cause is a [*SignalError]. From then on the tasks have the Grace of
// the [Config] to end, including those under [meanwhile.Shield]. When it is over, Main prints the trees of the tasks that
// still run and exits. A second INT or TERM exits immediately. The same signal again within a tenth of a second is ignored:
// some programs that start others, such as timeout(1) and npm, pass on a signal that the program has already received. QUIT
// prints the trees, and then lets Go print the goroutines and exit as it always does.
//
// HUP, such as from a terminal that is closed, also counts as a first signal, unless it is ignored, as under nohup, or an
// [OnSignal] waits for it. It never counts as a second one. The same holds for PIPE when the standard output or error has
// lost its reader, as in "program | head"; any other broken connection is only an error for the code that writes to it.
//
// These are the signals of Unix. On other systems they are os.Interrupt and, on Windows, the closing of the console, which
// Go reports as TERM.
//
// When the scope has ended, or the grace period is over, Main calls the functions of [AtExit].
//
// The exit codes:
//
//	0      success, also after a signal
//	1      failure, also by runtime.Goexit; prints a line "program: error"
//	2      failure by a panic; prints the panic with its stack. Also after QUIT
//	124    the scope did not end within the grace period (timeout(1) uses the same code); prints the trees
//	128+n  signal n cut the work short or came second: 1 for HUP, 2 for INT, 13 for PIPE, 15 for TERM; prints nothing
//	other  the code of an ExitError in the failure, which takes precedence over 1, 2 and 128+n; prints the failure unless Err is nil
//
// Everything is printed to os.Stderr. For code 0, Main returns. For other codes, it calls os.Exit, which skips the deferred
// functions of main: put cleanup that must be done into fn.
//
// The scope has the name of the program, unless the option [meanwhile.Name] sets another; [meanwhile.Timeout],
// [meanwhile.Observe] and [meanwhile.Retry] have the same meaning as for Run. When Main returns, the signals have their
// previous effect again. Main is for func main; tests call fn with Run. Main panics when it is called while it runs.
//
// A panic in a goroutine that was started by a plain go statement ends the process immediately, as it does without Main: Go
// calls no function between such a panic and the exit, so neither the trees are printed nor the functions of AtExit called.
func Main(fn func(ctx context.Context) error, opts ...meanwhile.TaskOption) {
	Config{}.Main(fn, opts...)
}

// Main is the function [Main] as configured by c. It panics when Grace is negative.
func (c Config) Main(fn func(ctx context.Context) error, opts ...meanwhile.TaskOption) {
	if c.Grace < 0 {
		panic("meanwhile: Config.Grace of " + c.Grace.String() + ": give a positive duration, or zero for the default")
	}
	if !mainRuns.CompareAndSwap(false, true) {
		panic("meanwhile: Main inside of Main: it is for func main and exits the process; call Run for a scope inside of it")
	}
	defer mainRuns.Store(false)
	scope.Watched.Store(true)
	p := newProcess(cmp.Or(c.Grace, defaultGrace))
	if code := p.conclude(p.run(fn, opts)); code != 0 {
		os.Exit(code)
	}
}

// mainRuns reports whether a Main runs.
var mainRuns atomic.Bool

const (
	defaultGrace = 8 * time.Second
	doubled      = 100 * time.Millisecond  // the same signal again within this time is ignored
	lastTime     = 1800 * time.Millisecond // to print the trees and for the functions of AtExit, when the grace period is over
)

// A process is one call of Main.
type process struct {
	name  string // of the root
	grace time.Duration
	root  *scope.Node

	stops, quits chan os.Signal
	pipes        chan os.Signal // PIPE, from any connection
	ended        chan struct{}  // closed when the scope has ended
	over         chan struct{}  // closed when Main is about to return or exit
	leaving      sync.Once
	watching     sync.Once
	watcher      sync.WaitGroup
	stopped      *SignalError // the first signal; until the watcher has ended, only it uses stopped and first
	first        time.Time    // when the first signal arrived
}

func newProcess(grace time.Duration) *process {
	return &process{
		name: programName(), grace: grace,
		stops: make(chan os.Signal, 2), quits: make(chan os.Signal, 1), pipes: make(chan os.Signal, 1),
		ended: make(chan struct{}), over: make(chan struct{}),
	}
}

func programName() string {
	if len(os.Args) == 0 {
		return "main"
	}
	return strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
}

// run calls Run and handles the signals.
func (p *process) run(fn func(context.Context) error, opts []meanwhile.TaskOption) error {
	signal.Notify(p.stops, stopSignals()...)
	notifyQuit(p.quits)
	notifyPipe(p.pipes)
	defer p.unwatch()
	returned := false
	defer func() {
		if !returned && p.root != nil {
			p.exitAfterGoexit()
		}
	}()
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		// Not before: only now does the root exist, to be canceled. A signal that arrived earlier is in the channel.
		p.watching.Do(func() {
			p.root = scope.RootOf(ctx)
			p.name = p.root.Label()
			p.watcher.Go(p.watch)
		})
		return fn(ctx)
	}, append([]meanwhile.TaskOption{meanwhile.Name(p.name)}, opts...)...)
	returned = true
	close(p.ended)
	p.leave(nil)
	return err
}

// exitAfterGoexit exits when fn has ended the goroutine of main; otherwise the process would stay and do nothing. A panic of
// fn is an error of Run, so only Goexit leads here.
func (p *process) exitAfterGoexit() {
	close(p.ended)
	p.leave(nil)
	p.unwatch()
	os.Exit(p.conclude(meanwhile.ErrGoexit))
}

// leave calls the functions of AtExit, once, and prints their errors after the output that printed waits for.
func (p *process) leave(printed <-chan struct{}) {
	p.leaving.Do(func() {
		errs := callAtExit()
		if printed != nil {
			<-printed
		}
		for _, err := range errs {
			p.print("at exit: " + err.Error())
		}
	})
}

// print prints one or more lines.
func (p *process) print(text string) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", p.name, strings.TrimSuffix(text, "\n"))
}

// unwatch restores the effect of the signals. When the grace period is over it does not return: the watcher exits.
func (p *process) unwatch() {
	signal.Stop(p.stops)
	signal.Stop(p.quits)
	signal.Stop(p.pipes)
	close(p.over)
	p.watcher.Wait()
}

// watch handles the signals until Main is about to end.
func (p *process) watch() {
	var grace <-chan time.Time
	ended := p.ended
	stop := func(sig os.Signal) {
		p.first = time.Now()
		if ended != nil {
			grace = time.After(p.grace)
		}
		p.stopped = &SignalError{sig}
		p.root.CancelBecause(p.stopped)
	}
	for {
		select {
		case sig := <-p.stops:
			switch {
			case p.stopped != nil:
				p.stopAgain(sig)
			case !isHangup(sig) || !signalWaiters.has(sig):
				stop(sig)
			}
		case sig := <-p.pipes:
			if p.stopped == nil && !signalWaiters.has(sig) && outputIsBroken() {
				stop(sig)
			}
		case <-p.quits:
			p.show("")
			quit()
		case <-grace:
			p.show(fmt.Sprintf("%s: not ended within %v after signal %v; what still runs:\n", p.name, p.grace, p.stopped.Signal))
			os.Exit(exitTimedOut)
		case <-ended:
			grace, ended = nil, nil // only the functions of AtExit run, which have a limit of their own
		case <-p.over:
			return
		}
	}
}

// stopAgain exits at the second signal, unless it is the first one repeated, or only reports that the terminal was closed.
func (p *process) stopAgain(sig os.Signal) {
	if isHangup(sig) {
		return
	}
	if p.stopped == nil || sig != p.stopped.Signal || time.Since(p.first) > doubled {
		os.Exit(exitSignaled + signalNumber(sig))
	}
}

// show prints the trees of the process below a title, and in the meantime calls the functions of AtExit. Neither a pipe that
// is not read, nor a snapshot that takes too long, nor a function that does not return can keep the process from exiting.
func (p *process) show(title string) {
	shown, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(shown)
		fmt.Fprint(os.Stderr, title)
		for _, tree := range (inspect.Node{Tasks: inspect.Trees()}).Grouped().Tasks {
			fmt.Fprint(os.Stderr, tree)
		}
	}()
	go func() {
		defer close(left)
		p.leave(shown)
		<-shown
	}()
	tooLong := time.After(lastTime)
	for {
		select {
		case <-left:
			return
		case <-tooLong:
			return
		case sig := <-p.stops:
			p.stopAgain(sig)
		}
	}
}
