package linefile

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/severity"
	"github.com/meanwhile-go/meanwhile/logs"
	"pgregory.net/rapid"
)

// TestLineLaw checks that a record makes the same line after others as it does alone.
func TestLineLaw(t *testing.T) {
	heads := [][]byte{[]byte("a|"), []byte("b|")}
	attr := rapid.Custom(func(t *rapid.T) slog.Attr {
		key := rapid.SampledFrom([]string{"host", severity.Key, "k", "a b"}).Draw(t, "key")
		return rapid.SampledFrom([]slog.Attr{
			slog.String(key, "x"), slog.String(key, "a|b"), slog.String(key, ""), slog.Int(key, 7), slog.String(key, strings.Repeat("y", keptAttrs)),
		}).Draw(t, "value")
	})
	record := rapid.Custom(func(t *rapid.T) logs.Record {
		text := rapid.SampledFrom([]string{"", "x", "a b", "\n"})
		return logs.Record{
			Time:    time.Unix(rapid.Int64Range(0, 2).Draw(t, "time"), rapid.SampledFrom([]int64{0, 1, 1e3, 1e6}).Draw(t, "fraction of the time")),
			Level:   slog.Level(rapid.SampledFrom([]int{0, 4, 5}).Draw(t, "level")),
			Message: text.Draw(t, "message"), Task: text.Draw(t, "task"), Job: text.Draw(t, "job"),
			Attrs: rapid.SliceOfN(attr, 0, 2).Draw(t, "attrs"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		var f Format
		var v logs.View
		for range rapid.IntRange(1, 8).Draw(t, "records") {
			r := record.Draw(t, "record")
			made := r.View()
			v.Reset() // its memory is used again, as inputs do
			attrs := append(v.EncodedAttrs(), made.EncodedAttrs()...)
			v = made
			v.SetEncodedAttrs(attrs)
			head := rapid.SampledFrom(heads).Draw(t, "head")
			fraction := rapid.SampledFrom([]int{0, 3, 6, 9}).Draw(t, "fraction")
			got, want := f.Append(nil, head, &v, v.Time, fraction), (&Format{}).Append(nil, head, &v, v.Time, fraction)
			if string(got) != string(want) {
				t.Fatalf("got %q, alone %q", got, want)
			}
		}
	})
}
