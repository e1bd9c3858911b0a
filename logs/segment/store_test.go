package segment_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

var quiet = slog.New(slog.DiscardHandler)

func TestStore(t *testing.T) {
	for name, cfg := range map[string]segment.Config{
		"defaults":       {},
		"small journals": {JournalBytes: 8000},
		"interval":       {Sync: segment.Interval, JournalBytes: 20_000},
		"os":             {Sync: segment.OS},
		"tiny backlog":   {JournalBytes: 20_000, Backlog: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "defaults" {
				testenv.LongTest(t)
			}
			cfg.Logger = quiet
			logtest.TestStore(t, func(ctx context.Context, dir string) (storage.Store, error) { return segment.Open(ctx, dir, cfg) })
		})
	}
}
