package logs

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/meanwhile-go/meanwhile"
)

// A fullTarget has room for the beginning of the first line, and for all of the second.
type fullTarget struct{ text []byte }

func (f *fullTarget) write(_ context.Context, lines []byte, _ []heard) (n int, err error) {
	switch string(lines) {
	case "one\n":
		n, err = 2, errors.New("full")
	case "e\n":
		err = errors.New("full")
	default:
		n = len(lines)
	}
	f.text = append(f.text, lines[:n]...)
	return n, err
}

func (f *fullTarget) sync() error  { return nil }
func (f *fullTarget) close() error { return nil }

// Behind a line that the end of the process has torn, nothing is written: the next process has its rest, or ends it.
func TestNothingBehindATornLine(t *testing.T) {
	target, waiting := &fullTarget{}, new(atomic.Int64)
	o := newLineOutput("test", target, waiting, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_ = meanwhile.Run(ctx, func(ctx context.Context) error {
		o.start(ctx)
		if _, err := o.append(ctx, []byte("one\n"), false, heard{}); err != nil {
			t.Error(err)
		}
		await(t, func() bool { return o.stats().failure != nil })
		if _, err := o.append(ctx, []byte("two\n"), false, heard{}); err != nil {
			t.Error(err)
		}
		cancel()
		return nil
	})
	if string(target.text) != "on" {
		t.Errorf("written is %q", target.text)
	}
	if lost := o.stats().lost; lost != 6 || waiting.Load() != 0 {
		t.Errorf("%d bytes are lost, %d wait", lost, waiting.Load())
	}
}
