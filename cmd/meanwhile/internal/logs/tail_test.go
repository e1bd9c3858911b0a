package logs

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A slow finder yields a record, an error that does not end the stream, and another record.
type slow struct {
	storage.Finder
	end error
}

func (s *slow) Follow(context.Context, storage.Query) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		_ = yield(logs.Record{Message: "one"}, nil) && yield(logs.Record{}, &storage.MissedError{Reason: "too slow\x1b"}) &&
			yield(logs.Record{Message: "two"}, nil) && yield(logs.Record{}, s.end)
	}
}

// TestTailSaysWhatItMisses: following reports missed records, and continues.
func TestTailSaysWhatItMisses(t *testing.T) {
	var out, said strings.Builder
	streams := probe.Streams{Out: &out, Err: &said}
	p, err := (&Output{Template: "{{.Message}}"}).printer(streams)
	if err != nil {
		t.Fatal(err)
	}
	ended := errors.New("closed")
	err = (&Tail{}).follow(t.Context(), &slow{end: ended}, storage.Query{}, p, streams)
	if !errors.Is(err, ended) || out.String() != "one\ntwo\n" || said.String() != "meanwhile: too slow\\x1b\n" {
		t.Errorf("got %v, %q, %q", err, out.String(), said.String())
	}
}

// A missing finder yields an error that does not end the stream, and then waits.
type missing struct{ storage.Finder }

func (missing) Follow(ctx context.Context, _ storage.Query) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		if yield(logs.Record{}, &storage.MissedError{Reason: "too slow"}) {
			<-ctx.Done()
			yield(logs.Record{}, context.Cause(ctx))
		}
	}
}

// TestTailSaysAtOnceWhatItMisses: missed records are reported although no other record follows.
func TestTailSaysAtOnceWhatItMisses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		streams := probe.Streams{Out: io.Discard, Err: &said}
		p, err := (&Output{}).printer(streams)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- (&Tail{}).follow(ctx, missing{}, storage.Query{}, p, streams) }()
		synctest.Wait()
		if want := "meanwhile: too slow\n"; said.String() != want {
			t.Errorf("got %q, want %q", said.String(), want)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	})
}
