package logtest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
)

func TestRecorder(t *testing.T) {
	var r logtest.Recorder
	var to input.Batcher = &r
	to.Add(&logs.View{Service: []byte("api"), Message: []byte("one")})
	if len(r.Records()) != 0 || len(r.Added()) != 1 {
		t.Error("a record that was not flushed counts as flushed")
	}
	_ = to.Flush(t.Context())
	to.Add(&logs.View{Service: []byte("api"), Message: []byte("two")})
	r.OnFlush = func(context.Context) error { return logs.ErrFull }
	if err := to.Sync(t.Context()); !errors.Is(err, logs.ErrFull) {
		t.Errorf("got %v, want what OnFlush returned", err)
	}
	r.OnFlush = nil
	_ = to.Sync(t.Context())
	to.Refuse("no frame")
	if got := r.Messages(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("got %q", got)
	}
	if records, flushes, syncs := r.Synced(); records != 2 || flushes != 2 || syncs != 1 {
		t.Errorf("%d records synced, %d flushes, %d syncs", records, flushes, syncs)
	}
	if got := r.Refused(); got["no frame"] != 1 {
		t.Errorf("refused %v", got)
	}
}
