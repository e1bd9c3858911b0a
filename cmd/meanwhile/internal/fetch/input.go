package fetch

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/terminal"
)

// An inputLine is the position of a URL in the input.
type inputLine struct {
	source string // fromArguments, or the name of a file
	line   int    // from 1
}

const (
	fromArguments = "argument"
	fromStandard  = "standard input"
)

func (p inputLine) String() string {
	if p.source == fromArguments {
		return fmt.Sprintf("%s %d", p.source, p.line)
	}
	return fmt.Sprintf("%s:%d", p.source, p.line)
}

// A lineError is the error of an input line that is not a URL.
type lineError struct {
	at  inputLine
	err error
}

func (e *lineError) Error() string { return e.at.String() + ": " + e.err.Error() }

func (e *lineError) Unwrap() error { return e.err }

// An input is the list of arguments and a reader of lines after them.
type input struct {
	arguments []string
	name      string    // name of the reader
	reader    io.Reader // nil if there is none
	ledger    *ledger

	mu    sync.Mutex
	next  inputLine // position of the next line to read; zero at the end
	count int       // number of transfers so far
}

// openInput opens the sources of URLs of a command. The caller closes it.
func openInput(c *Command, s Streams, l *ledger) (*input, error) {
	in := &input{arguments: c.URLs, ledger: l, next: inputLine{fromArguments, 1}}
	switch {
	case c.From == "-":
		in.name, in.reader = fromStandard, s.In
	case c.From != "":
		f, err := openRegular(string(c.From))
		if err != nil {
			return nil, fmt.Errorf("read URLs: %w", err)
		}
		in.name, in.reader = string(c.From), f
	case len(c.URLs) == 0 && terminal.Is(s.In):
		return nil, fmt.Errorf("no URLs: give some, or --from FILE, or pipe them in")
	case len(c.URLs) == 0:
		in.name, in.reader = fromStandard, s.In
	}
	return in, nil
}

// openRegular opens a file for reading, and returns an error for a folder.
func openRegular(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("open %s: it is a folder", name)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (in *input) close() {
	if f, ok := in.reader.(*os.File); ok && in.name != fromStandard {
		_ = f.Close()
	}
}

// transfers returns a stream of the URLs, each added to the ledger. For a line that is not a URL it yields a *lineError.
func (in *input) transfers(ctx context.Context) meanwhile.Stream[*transfer] {
	return func(yield func(*transfer, error) bool) {
		for i, text := range in.arguments {
			if ctx.Err() != nil || !in.yield(inputLine{fromArguments, i + 1}, strings.TrimSpace(text), yield) {
				return
			}
		}
		if in.reader != nil && !in.lines(ctx, yield) {
			return
		}
		in.goTo(inputLine{})
	}
}

// lines yields the URLs of the reader, and reports whether it reached the end.
func (in *input) lines(ctx context.Context, yield func(*transfer, error) bool) bool {
	in.goTo(inputLine{in.name, 1})
	at := inputLine{in.name, 0}
	for line, err := range meanwhile.Lines(ctx, in.reader) {
		at.line++
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil:
			if !yield(nil, &lineError{at, err}) {
				return false
			}
			continue
		case at.line == 1:
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !in.yield(at, line, yield) {
			return false
		}
	}
	return ctx.Err() == nil
}

func (in *input) yield(at inputLine, text string, yield func(*transfer, error) bool) bool {
	u, err := parseURL(text)
	if err != nil {
		in.goTo(inputLine{at.source, at.line + 1})
		return yield(nil, &lineError{at, fmt.Errorf("no URL: %s: %w", quote(text), err)})
	}
	in.mu.Lock()
	t := &transfer{at: at, index: in.count, url: u}
	in.count++
	in.next = inputLine{at.source, at.line + 1}
	in.mu.Unlock()
	in.ledger.enter(t)
	return yield(t, nil)
}

func (in *input) goTo(p inputLine) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.next = p
}

// unread returns the position where reading stopped, and false if all of the input was read.
func (in *input) unread() (inputLine, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	p := in.next
	if p.source == fromArguments && p.line > len(in.arguments) {
		p = inputLine{in.name, 1}
	}
	return p, p.source != ""
}

// total counts the URLs of the input by reading a file a second time, and returns 0 if that is not possible.
func (in *input) total(ctx context.Context) int {
	n := len(in.arguments)
	if in.reader == nil {
		return n
	}
	if info, err := os.Stat(in.name); in.name == fromStandard || err != nil || !info.Mode().IsRegular() {
		return 0
	}
	f, err := os.Open(in.name)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	for line, err := range meanwhile.Lines(ctx, f) {
		if ctx.Err() != nil {
			return 0
		}
		if line = strings.TrimSpace(line); err != nil || line != "" && !strings.HasPrefix(line, "#") {
			n++
		}
	}
	return n
}
