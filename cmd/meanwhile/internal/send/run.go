package send

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/interrupt"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/process"
)

// An ExitError is the exit code of the command.
type ExitError struct {
	Code int
	Err  error // error to report; nil for none
}

// Error returns the text of Err, or of the code.
func (e *ExitError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// send sends the input, or the output of the command, and closes the sender.
func (p *plan) send(sender *logs.Sender) error {
	if p.state != nil {
		return p.follow(sender)
	}
	return meanwhile.Run(context.Background(), func(ctx context.Context) error {
		run, survived := p.pipe, []os.Signal{syscall.SIGPIPE} // the reader of --tee may go away
		if len(p.Program) > 0 {
			run, survived = p.wrap, append(survived, heeded(forwarded)...) // also before the command starts and after it has ended
		}
		process.OnSignal(ctx, func(context.Context, os.Signal) error { return nil }, survived...)
		err := run(ctx, sender)
		if lost := p.close(ctx, sender); err == nil {
			err = lost
		}
		return err
	}, meanwhile.Name("meanwhile logs send"))
}

func (p *plan) lines(take func(*logs.View), stream string) *lines {
	return &lines{take: take, level: p.level, begin: p.begin, single: p.Lines, text: p.Text, most: p.MaxRecord, stream: stream}
}

// watch sends records that get no more lines, while fn runs.
func watch(ctx context.Context, all []*lines, fn func(ctx context.Context) error) error {
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Every(ctx, together/2, func(context.Context) error {
			for _, l := range all {
				l.idle(time.Now())
			}
			return nil
		}, meanwhile.Name("lines"))
		return fn(ctx)
	}, meanwhile.Name("read"))
	for _, l := range all {
		l.close()
	}
	return err
}

// follow sends the lines of files until a signal.
func (p *plan) follow(sender *logs.Sender) error {
	err := interrupt.Run("follow", func(ctx context.Context) error {
		f := &follower{
			patterns: p.Follow, state: p.state, flush: sender.Flush, problems: p.problems,
			send: func(v *logs.View) error { return sender.Send(ctx, v) },
			open: func(path string, take func(*logs.View)) *lines {
				l := p.lines(take, "")
				l.file = path
				return l
			},
		}
		return f.run(ctx, p.Wait)
	})
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = sender.Close(now) // records that the server does not have are in the files
	return err
}

// tee returns a writer to both. If to is closed by its reader, it continues with the second.
func (p *plan) tee(to io.Writer, l *lines) io.Writer {
	if !p.Tee {
		return l
	}
	return &tee{to: to, lines: l}
}

type tee struct {
	to    io.Writer
	lines *lines
	gone  bool
}

func (t *tee) Write(b []byte) (int, error) {
	if !t.gone {
		_, err := t.to.Write(b)
		t.gone = err != nil
	}
	return t.lines.Write(b)
}

// pipe reads the input to its end; the writer of the input waits while there is no space for its records. After a signal it
// continues for at most --wait, since the writer may have got the signal as well; a second signal stops it immediately.
func (p *plan) pipe(ctx context.Context, sender *logs.Sender) error {
	patient, abandon := context.WithCancelCause(ctx)
	defer abandon(nil)
	l := p.lines(func(v *logs.View) {
		if patient.Err() != nil || sender.Send(patient, v) != nil {
			_ = sender.Add(v) // Add does not wait, and counts dropped records
		}
	}, "")
	to := p.tee(p.streams.Out, l)
	return watch(ctx, []*lines{l}, func(ctx context.Context) error {
		reading, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		signaled := false
		process.OnSignal(ctx, func(_ context.Context, sig os.Signal) error {
			cause := &process.SignalError{Signal: sig}
			if signaled {
				stop(cause)
				return nil
			}
			signaled = true
			meanwhile.Go(ctx, func(ctx context.Context) error {
				if meanwhile.Sleep(ctx, p.Wait) == nil {
					stop(cause)
				}
				return nil
			}, meanwhile.InBackground(), meanwhile.Name("grace"))
			return nil
		}, os.Interrupt, syscall.SIGTERM)
		_, err := meanwhile.Blocking(reading, func() (int64, error) { return io.Copy(to, p.streams.In) })
		if cause, ok := errors.AsType[*process.SignalError](err); ok {
			abandon(cause)
			return nil
		}
		return err
	})
}

// wrap runs the command to its end, whatever happens to the records.
func (p *plan) wrap(ctx context.Context, sender *logs.Sender) error {
	h := &holdUp{sender: sender, ctx: ctx}
	out, err := p.lines(h.send, ""), p.lines(h.send, "stderr")
	command := exec.Command(p.Program[0], p.Program[1:]...)
	command.Stdin, command.Stdout, command.Stderr = p.streams.In, p.tee(p.streams.Out, out), p.tee(p.streams.Err, err)
	command.WaitDelay = p.Wait // for processes that the command has left, which may hold its output open
	return watch(ctx, []*lines{out, err}, func(ctx context.Context) error {
		begun := make(chan struct{}) // closed when there is a process to signal, or there will be none
		if signals := heeded(forwarded); len(signals) > 0 {
			process.OnSignal(ctx, func(ctx context.Context, sig os.Signal) error {
				<-begun
				fromTerminal := slices.Contains(ofTerminal, sig) && inForeground()
				if command.Process != nil && !fromTerminal {
					_ = command.Process.Signal(sig) // the process may have ended
				}
				return nil
			}, signals...)
		}
		err := command.Start()
		close(begun)
		if err != nil {
			code := 126
			if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
				code = 127
			}
			return &ExitError{Code: code, Err: err}
		}
		err = command.Wait()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return &ExitError{Code: exitCode(exit.ProcessState)}
		}
		if errors.Is(err, exec.ErrWaitDelay) {
			return nil
		}
		return err
	})
}

// heeded returns the signals that are not ignored. The parent process may have made this program ignore some, as nohup does with
// HUP. The command ignores them as well, as long as nothing here waits for them.
func heeded(signals []os.Signal) (some []os.Signal) {
	for _, sig := range signals {
		if !signal.Ignored(sig) {
			some = append(some, sig)
		}
	}
	return some
}

// close waits for the server, and reports records that it does not have.
func (p *plan) close(ctx context.Context, sender *logs.Sender) error {
	wait, cancel := context.WithTimeout(ctx, p.Wait)
	defer cancel()
	ending := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if len(p.Program) > 0 {
		ending = append(ending, heeded(stopping)...)
	}
	process.OnSignal(ctx, func(context.Context, os.Signal) error {
		cancel()
		return nil
	}, ending...)
	err := sender.Close(wait)
	cancel()
	if pending, ok := errors.AsType[*logs.PendingError](sender.Flush(wait)); ok && err == nil && pending.Spooled > 0 {
		text := "%d records are in the spool; the next process with this spool sends them"
		if pending.Spooled == 1 {
			text = "%d record is in the spool; the next process with this spool sends it"
		}
		p.problems(text, pending.Spooled)
	}
	if dropped := sender.Stats().Dropped; dropped > 0 {
		drops := fmt.Errorf("%d records were dropped", dropped)
		if err == nil {
			err = drops
		} else {
			err = fmt.Errorf("%w; before that, %w", err, drops)
		}
	}
	if err != nil && len(p.Program) > 0 { // the exit code is that of the command
		p.problems("%s", probe.Printable(err.Error()))
		return nil
	}
	return err
}
