package filter

import (
	"log/slog"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
)

func TestAppendValue(t *testing.T) {
	r := logs.Record{
		Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Level: slog.LevelWarn, Service: "api", Message: "timed out", Task: "main/a", Job: "01JX", Number: 7,
		Attrs: []slog.Attr{slog.Int("status", 503), slog.Int("status", 200), slog.String("time", "noon"), slog.Int(`a "b\`, 1)},
	}
	v := r.View()
	for key, want := range map[string]string{
		"time": "2026-01-02T03:04:05.000000006Z", "level": "WARN", "service": "api", "message": "timed out", "task": "main/a", "job": "01JX", "number": "7",
		"status": "503", "none": "",
		`"status"`: "503", `"time"`: "noon", `"a \"b\\"`: "1", `"`: "", `""`: "", `"none"`: "",
	} {
		if got := AppendValue([]byte("="), &v, key); string(got) != "="+want {
			t.Errorf("%s: got %q, want %q", key, got, "="+want)
		}
	}
}
