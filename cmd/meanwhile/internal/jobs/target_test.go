package jobs

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/job/memory"
)

// A silent store never answers.
type silent struct{ *memory.Store }

func (silent) Ping(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("ping: %w", ctx.Err())
}

// TestPingWithoutAnswer: the error has the time that was waited, unless the command was interrupted.
func TestPingWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := silent{memory.New()}
		if err, want := Ping(t.Context(), s, 15*time.Second), "no response for 15s (ping: context deadline exceeded)"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err, want := Ping(ctx, s, 15*time.Second), "ping: context deadline exceeded"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if err := Ping(t.Context(), memory.New(), time.Second); err != nil {
			t.Error(err)
		}
	})
}
