package docs_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
)

// TestLogsClientOptions makes the handler with options that the guide shows.
func TestLogsClientOptions(t *testing.T) {
	key := "secret"

	handler, err := logs.NewHandler("tls://logs.example.com:6767?key="+key, &logs.HandlerOptions{
		Level:     slog.LevelDebug,
		AddSource: true,
		SenderOptions: logs.SenderOptions{
			Service:     "api",
			Spool:       "/var/spool/api",
			SpoolBytes:  1 << 30,
			MemoryBytes: 32 << 20,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !handler.Enabled(t.Context(), slog.LevelDebug) {
		t.Error("debug is not logged")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := handler.Close(ctx); err != nil {
		t.Error(err)
	}
}

// TestWaitingHandler is a handler that waits for room.
func TestWaitingHandler(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	handler, err := logs.NewHandler("tcp://127.0.0.1:6767", &logs.HandlerOptions{Block: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := handler.Close(ctx); err != nil {
		t.Error(err)
	}
}
