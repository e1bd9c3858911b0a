package jobs

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

// An input is a source of lines.
type input struct {
	name  string
	r     io.Reader
	file  *os.File // nil if the input is not a file
	begin int64    // offset at the start
	again bool     // it can be read a second time
	owned bool
	last  int // number of the last line with a job
}

// A line is a line that is not empty.
type line struct {
	number int
	text   string
}

// openInput opens a file, or uses standard input for "-". Its errors are usage errors.
func openInput(name string, stdin io.Reader) (*input, error) {
	in := &input{name: probe.Printable(name)}
	if name == "-" {
		in.name, in.r = "standard input", stdin
		in.file, _ = stdin.(*os.File)
	} else {
		f, err := os.Open(name)
		if err != nil {
			return nil, &probe.UsageError{Err: fmt.Errorf("read args: %w", err)}
		}
		in.r, in.file, in.owned = f, f, true
	}
	if in.file == nil {
		return in, nil
	}
	info, err := in.file.Stat()
	switch {
	case err != nil:
		in.close()
		return nil, fmt.Errorf("read args: %w", err)
	case info.IsDir():
		in.close()
		return nil, usage("read args: %s is a folder", in.name)
	}
	if info.Mode().IsRegular() {
		in.begin, err = in.file.Seek(0, io.SeekCurrent)
		in.again = err == nil
	}
	return in, nil
}

func (in *input) close() {
	if in.owned {
		_ = in.file.Close()
	}
}

// rewind returns to the start of the input.
func (in *input) rewind() error {
	if _, err := in.file.Seek(in.begin, io.SeekStart); err != nil {
		return fmt.Errorf("read args again: %w", err)
	}
	in.last = 0
	return nil
}

// lines yields the lines that are not empty, with their line numbers.
func (in *input) lines(ctx context.Context) meanwhile.Stream[line] {
	return func(yield func(line, error) bool) {
		number := 0
		for text, err := range meanwhile.Lines(ctx, in.r) {
			number++
			if number == 1 {
				text = strings.TrimPrefix(text, "\ufeff") // a byte order mark
			}
			if err == nil && strings.TrimSpace(text) == "" {
				continue
			}
			if !yield(line{number, text}, err) {
				return
			}
		}
	}
}
