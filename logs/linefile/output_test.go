package linefile

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// A fullTarget has space for the beginning of the first line, and for all of the second.
type fullTarget struct{ text []byte }

func (f *fullTarget) write(_ context.Context, lines []byte, _ []Received) (n int, err error) {
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

// Nothing is written after a line that the end of the process has torn: the next process writes its rest, or ends it.
func TestNothingBehindATornLine(t *testing.T) {
	target, memory := &fullTarget{}, new(Memory)
	o := NewOutput("test", target, memory, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_ = meanwhile.Run(ctx, func(ctx context.Context) error {
		o.Start(ctx)
		if _, err := o.Append(ctx, []byte("one\n"), false, Received{}); err != nil {
			t.Error(err)
		}
		testenv.Await(t, func() bool { return o.Stats().Failure != nil })
		if _, err := o.Append(ctx, []byte("two\n"), false, Received{}); err != nil {
			t.Error(err)
		}
		cancel()
		return nil
	})
	if string(target.text) != "on" {
		t.Errorf("written is %q", target.text)
	}
	if lost := o.Stats().Lost; lost != 6 || memory.waiting.Load() != 0 {
		t.Errorf("%d bytes are lost, %d wait", lost, memory.waiting.Load())
	}
}
