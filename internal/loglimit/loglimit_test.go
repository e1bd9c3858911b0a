package loglimit_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/loglimit"
)

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&text, nil))
		var limit loglimit.Limit
		log := func(n int) []string {
			text.Reset()
			for i := range n {
				limit.Warn(logger, "wrong", "i", i)
			}
			return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
		}
		begun := time.Now()
		lines := log(25)
		if until := "silent_until=" + begun.Add(time.Minute).Format("2006-01-02T15:04:05.000Z07:00"); len(lines) != 10 || !strings.Contains(lines[9], until) || strings.Contains(lines[8], "silent") {
			t.Errorf("25 at once have these lines, want ten, the last with %s:\n%s", until, strings.Join(lines, "\n"))
		}
		time.Sleep(time.Minute - time.Nanosecond)
		if lines := log(1); lines[0] != "" {
			t.Errorf("within the minute: %q", lines)
		}
		time.Sleep(time.Nanosecond)
		if lines := log(2); len(lines) != 2 || !strings.HasSuffix(lines[0], " i=0 omitted=16") || !strings.HasSuffix(lines[1], " i=1") {
			t.Errorf("then: %q, want two lines, the first with omitted=16", lines)
		}
		time.Sleep(time.Hour)
		if lines := log(1); !strings.HasSuffix(lines[0], " i=0") {
			t.Errorf("if none was omitted: %q", lines)
		}
	})
}
