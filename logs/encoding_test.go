package logs

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/tasklog"
)

// TestEncodingLaw: a handler encodes a record as Sender.Add does, however long its parts are.
func TestEncodingLaw(t *testing.T) {
	length := rapid.SampledFrom([]int{0, 1, 126, 127, 128, 300, 16_383, 16_384})
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string { return strings.Repeat(name[:1], length.Draw(t, name)) }
		name := "t" + text("task")
		message, job, value := text("message"), text("job"), text("value")
		h := &Handler{}
		_ = meanwhile.Run(t.Context(), func(ctx context.Context) error {
			r := slog.NewRecord(time.Unix(1, 2), slog.LevelWarn, message, 0)
			r.AddAttrs(slog.String("key", value), slog.Int("n", len(value)))
			got := h.encode(ctx, nil, &r, 17)
			want := View{Time: 17, Level: slog.LevelWarn, Message: []byte(message), Task: tasklog.AppendPath(ctx, nil), Job: []byte(job)}
			want.AddAttr(slog.String("kind", "k"))
			want.AddAttr(slog.String("key", value))
			want.AddAttr(slog.Int("n", len(value)))
			if whole := appendBounded(nil, &want); !bytes.Equal(got, whole) {
				t.Errorf("got %.200q…, want %.200q…", got, whole)
			}
			return nil
		}, meanwhile.Name(name), meanwhile.Attrs(slog.String(keyJob, job), slog.String("kind", "k")))
	})
}

func TestEncodingIsBounded(t *testing.T) {
	for name, r := range map[string]slog.Record{
		"message": slog.NewRecord(time.Now(), slog.LevelInfo, strings.Repeat("x", 2*MaxRecord), 0),
		"value":   slog.NewRecord(time.Now(), slog.LevelInfo, "short", 0),
		"many":    slog.NewRecord(time.Now(), slog.LevelInfo, "short", 0),
	} {
		if name == "value" {
			r.AddAttrs(slog.String("key", strings.Repeat("x", 2*MaxRecord)))
		}
		for range maxAttrs * 2 {
			if name == "many" {
				r.AddAttrs(slog.Int("n", 7))
			}
		}
		var v View
		rest, err := v.Next((&Handler{}).encode(t.Context(), nil, &r, 1))
		if err != nil || len(rest) > 0 || v.Check() != nil {
			t.Errorf("%s: the record cannot be decoded: %v", name, err)
		}
		if said := v.Record(); !strings.Contains(said.Message, "bytes cut)") && (len(said.Attrs) == 0 || said.Attrs[len(said.Attrs)-1].Key != "logs.attributes_left_out") {
			t.Errorf("%s: the record does not report what was left out", name)
		}
	}
}

func TestEncodingCutsBetweenCharacters(t *testing.T) {
	long := strings.Repeat("x", maxClientMessage-1) + strings.Repeat("é", 5000)
	task := strings.Repeat("x", 1<<10-1) + "é"
	var v View
	if _, err := v.Next(appendBounded(nil, &View{Time: 1, Message: []byte(long), Task: []byte(task)})); err != nil {
		t.Fatal(err)
	}
	if want := long[:maxClientMessage-1] + "… (10000 bytes cut)"; string(v.Message) != want {
		t.Errorf("got a message of %d bytes that ends with %q, want %d", len(v.Message), v.Message[maxClientMessage-5:], len(want))
	}
	if string(v.Task) != task[:1<<10-1] {
		t.Errorf("got a task of %d bytes that ends with %q", len(v.Task), v.Task[1000:])
	}
}
