package send

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/inspect"
	"github.com/meanwhile-go/meanwhile/logs"
)

// An ExitError is the exit code of a command that was run.
type ExitError struct {
	Code int
	Err  error // what is left to say; nil for nothing
}

// Error says what the code is.
func (e *ExitError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// send brings the input, or what the command writes, to the sender, and closes it.
func (p *plan) send(sender *logs.Sender) error {
	return meanwhile.Run(context.Background(), func(ctx context.Context) error {
		meanwhile.OnSignal(ctx, func(context.Context, os.Signal) error { return nil }, syscall.SIGPIPE) // who reads --tee may go
		patient, abandon := context.WithCancelCause(ctx)
		defer abandon(nil)
		take := func(v *logs.View) error {
			if patient.Err() == nil {
				err := sender.Send(patient, v)
				if patient.Err() == nil {
					return err
				}
			}
			_ = sender.Add(v) // which does not wait, and counts what it drops
			return nil
		}
		run := p.pipe
		if len(p.Program) > 0 {
			run = p.wrap
		}
		err := run(ctx, take, abandon)
		if lost := p.close(ctx, sender); err == nil {
			err = lost
		}
		return err
	}, meanwhile.Name("meanwhile logs send"))
}

func (p *plan) lines(take func(*logs.View) error, stream string) *lines {
	return &lines{take: take, level: p.level, begin: p.begin, single: p.Lines, text: p.Text, most: p.MaxRecord, stream: stream}
}

// watch sends records of which no more lines come. It returns when all is sent.
func watch(ctx context.Context, all []*lines, fn func(ctx context.Context) error) error {
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Every(ctx, together/2, func(context.Context) error {
			for _, l := range all {
				if err := l.idle(time.Now()); err != nil {
					return err
				}
			}
			return nil
		}, meanwhile.Name("lines"))
		return fn(ctx)
	}, meanwhile.Name("read"))
	for _, l := range all {
		if last := l.close(); err == nil {
			err = last
		}
	}
	return err
}

// tee returns a writer to both. When nobody reads the first any more, it goes on with the second.
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

// pipe reads the input to its end. A signal gives it the time of --wait for that, as who writes it may have got the signal
// as well; another one stops at once.
func (p *plan) pipe(ctx context.Context, take func(*logs.View) error, abandon context.CancelCauseFunc) error {
	l := p.lines(take, "")
	to := p.tee(p.streams.Out, l)
	return watch(ctx, []*lines{l}, func(ctx context.Context) error {
		reading, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		signaled := false
		meanwhile.OnSignal(ctx, func(_ context.Context, sig os.Signal) error {
			cause := &meanwhile.SignalError{Signal: sig}
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
			}, meanwhile.Background(), meanwhile.Name("grace"))
			return nil
		}, os.Interrupt, syscall.SIGTERM)
		_, err := meanwhile.Blocking(reading, func() (int64, error) { return io.Copy(to, p.streams.In) })
		if cause, ok := errors.AsType[*meanwhile.SignalError](err); ok {
			abandon(cause)
			return nil
		}
		return err
	})
}

// wrap runs the command to its end.
func (p *plan) wrap(ctx context.Context, take func(*logs.View) error, abandon context.CancelCauseFunc) error {
	out, err := p.lines(take, ""), p.lines(take, "stderr")
	command := exec.Command(p.Program[0], p.Program[1:]...)
	command.Stdin, command.Stdout, command.Stderr = p.streams.In, p.tee(p.streams.Out, out), p.tee(p.streams.Err, err)
	command.WaitDelay = p.Wait // for those the command has left, which may hold its output
	return watch(ctx, []*lines{out, err}, func(ctx context.Context) error {
		var started atomic.Bool
		meanwhile.OnSignal(ctx, func(_ context.Context, sig os.Signal) error {
			if started.Load() && !p.told(sig) {
				_ = command.Process.Signal(sig) // it may have ended
			}
			return nil
		}, forwarded...)
		if err := command.Start(); err != nil {
			code := 126
			if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
				code = 127
			}
			return &ExitError{Code: code, Err: err}
		}
		started.Store(true)
		err := command.Wait()
		time.AfterFunc(p.Wait, func() { abandon(exec.ErrWaitDelay) }) // what it has written is held up no longer than that
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return &ExitError{Code: exitCode(exit.ProcessState)}
		}
		if errors.Is(err, exec.ErrWaitDelay) {
			return nil
		}
		return err
	})
}

// told reports whether the terminal has told the command of a signal already, as it does with keys.
func (p *plan) told(sig os.Signal) bool {
	in, ok := p.streams.In.(*os.File)
	return ok && (sig == os.Interrupt || sig == syscall.SIGQUIT) && term.IsTerminal(int(in.Fd()))
}

// close waits for the server, and says what it does not have.
func (p *plan) close(ctx context.Context, sender *logs.Sender) error {
	wait, cancel := context.WithTimeout(ctx, p.Wait)
	defer cancel()
	meanwhile.OnSignal(ctx, func(context.Context, os.Signal) error {
		cancel()
		return nil
	}, os.Interrupt, syscall.SIGTERM)
	err := sender.Close(wait)
	cancel()
	if pending, ok := errors.AsType[*logs.PendingError](sender.Flush(wait)); ok && err == nil && pending.Spooled > 0 {
		p.problems("%d records are in the spool, to be sent by the next that has it", pending.Spooled)
	}
	if dropped := sender.Stats().Dropped; err == nil && dropped > 0 {
		err = fmt.Errorf("%d records were dropped", dropped)
	}
	if err != nil && len(p.Program) > 0 { // whose exit code says how the command did
		p.problems("%s", inspect.Printable(err.Error()))
		return nil
	}
	return err
}
