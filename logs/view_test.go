package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func attrs() *rapid.Generator[slog.Attr] {
	key := rapid.String()
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) slog.Attr { return slog.String(key.Draw(t, "key"), rapid.String().Draw(t, "text")) }),
		rapid.Custom(func(t *rapid.T) slog.Attr { return slog.Int64(key.Draw(t, "key"), rapid.Int64().Draw(t, "int")) }),
		rapid.Custom(func(t *rapid.T) slog.Attr { return slog.Uint64(key.Draw(t, "key"), rapid.Uint64().Draw(t, "uint")) }),
		rapid.Custom(func(t *rapid.T) slog.Attr {
			return slog.Float64(key.Draw(t, "key"), rapid.Float64().Draw(t, "float"))
		}),
		rapid.Custom(func(t *rapid.T) slog.Attr { return slog.Bool(key.Draw(t, "key"), rapid.Bool().Draw(t, "bool")) }),
		rapid.Custom(func(t *rapid.T) slog.Attr {
			return slog.Duration(key.Draw(t, "key"), time.Duration(rapid.Int64().Draw(t, "duration")))
		}),
		rapid.Custom(func(t *rapid.T) slog.Attr {
			return slog.Time(key.Draw(t, "key"), time.Unix(0, rapid.Int64().Draw(t, "time")).UTC())
		}),
		rapid.Custom(func(t *rapid.T) slog.Attr {
			return slog.Any(key.Draw(t, "key"), json.RawMessage(fmt.Sprintf("[%d]", rapid.Int().Draw(t, "json"))))
		}),
	)
}

func records() *rapid.Generator[Record] {
	return rapid.Custom(func(t *rapid.T) Record {
		return Record{
			Time:    time.Unix(0, rapid.Int64().Draw(t, "time")).UTC(),
			Level:   slog.Level(rapid.Int32().Draw(t, "level")),
			Service: "api",
			Message: rapid.String().Draw(t, "message"),
			Task:    rapid.String().Draw(t, "task"),
			Job:     rapid.String().Draw(t, "job"),
			Attrs:   rapid.SliceOfN(attrs(), 0, 5).Draw(t, "attrs"),
		}
	})
}

// TestBatchLaw: a batch yields the records that were added to it, in order.
func TestBatchLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(records(), 1, 5).Draw(t, "records")
		b := Batch{Service: "api"}
		for i := range want {
			v := want[i].View()
			b.Add(&v)
		}
		if b.Count != len(want) {
			t.Fatalf("Count is %d, want %d", b.Count, len(want))
		}
		var got []Record
		for v, err := range b.Views {
			if err != nil || v.Check() != nil {
				t.Fatal(err, v.Check())
			}
			if v.Time < b.Min || v.Time > b.Max {
				t.Fatalf("%d is not between %d and %d", v.Time, b.Min, b.Max)
			}
			got = append(got, v.Record())
		}
		for i := range want {
			if got, want := reported(&got[i]), reported(&want[i]); got != want {
				t.Fatalf("got %s\nwant %s", got, want)
			}
		}
	})
}

// reported returns all parts of a record as text.
func reported(r *Record) string {
	text := fmt.Sprintf("%v %d %q %q %q %q", r.Time, r.Level, r.Service, r.Message, r.Task, r.Job)
	for _, a := range r.Attrs {
		text += fmt.Sprintf(" %q %v %q", a.Key, a.Value.Kind(), a.Value.String())
	}
	return text
}

type broken struct{ s *string }

func (b *broken) String() string { return *b.s }

func TestAttrsOfAllKinds(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	tests := map[string]struct {
		attr slog.Attr
		want string
	}{
		"group":      {slog.Group("http", slog.Int("status", 200), slog.Group("peer", "ip", "::1")), "http.status=200 http.peer.ip=::1"},
		"no key":     {slog.Group("", slog.Int("status", 200)), "status=200"},
		"empty":      {slog.Attr{}, ""},
		"nil":        {slog.Any("x", nil), "x=null"},
		"error":      {slog.Any("err", errors.New("no")), "err=no"},
		"stringer":   {slog.Any("d", reflect.ValueOf(3)), "d=<int Value>"},
		"nil panics": {slog.Any("d", (*broken)(nil)), "d=!PANIC: runtime error: invalid memory address or nil pointer dereference"},
		"slice":      {slog.Any("ids", []int{1, 2}), "ids=[1,2]"},
		"no JSON":    {slog.Any("raw", json.RawMessage("{")), "raw={"},
		"channel":    {slog.Any("c", (chan int)(nil)), "c=<nil>"},
		"bytes":      {slog.Any("b", []byte("abc")), "b=abc"},
		"valuer":     {slog.Any("v", slog.StringValue("abc")), "v=abc"},
		"time":       {slog.Time("t", at), "t=2026-05-04T03:02:01Z"},
		"zero time":  {slog.Time("t", time.Time{}), "t=0001-01-01T00:00:00Z"},
		"far time":   {slog.Time("t", time.Date(2300, 1, 1, 0, 0, 0, 5, time.UTC)), "t=2300-01-01T00:00:00.000000005Z"},
		"last time":  {slog.Time("t", time.Unix(0, math.MaxInt64)), "t=2262-04-11T23:47:16.854775807Z"},
		"after it":   {slog.Time("t", time.Unix(0, math.MaxInt64).Add(1)), "t=2262-04-11T23:47:16.854775808Z"},
		"duration":   {slog.Duration("took", 1500*time.Millisecond), "took=1.5s"},
		"bool":       {slog.Bool("ok", false), "ok=false"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var v View
			v.AddAttr(test.attr)
			if err := v.Check(); err != nil {
				t.Fatal(err)
			}
			var got []byte
			for key, value := range v.Attrs {
				if got != nil {
					got = append(got, ' ')
				}
				got = value.AppendText(append(append(got, key...), '='))
			}
			if string(got) != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// FuzzView: reading any data ends, and a valid record is the same after it was encoded and read again.
func FuzzView(f *testing.F) {
	r := Record{Time: time.Unix(1, 2), Level: slog.LevelWarn, Message: "moved", Task: "a/b", Job: "1", Attrs: []slog.Attr{slog.Int("n", -7), slog.String("s", "x")}}
	v := r.View()
	f.Add(v.Append(nil))
	f.Add([]byte{12, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		b := Batch{Data: data}
		read := 0
		for v, err := range b.Views {
			if err != nil {
				return
			}
			if read++; read > len(data) {
				t.Fatal("more records than bytes")
			}
			if v.Check() != nil {
				continue
			}
			var again View
			if rest, err := again.Next(v.Append(nil)); err != nil || len(rest) != 0 {
				t.Fatalf("%v, %d bytes left", err, len(rest))
			}
			if !bytes.Equal(again.Message, v.Message) || again.Time != v.Time || again.Level != v.Level || !bytes.Equal(again.attrs, v.attrs) {
				t.Fatalf("got %+v, want %+v", again, *v)
			}
		}
	})
}

func TestCheckService(t *testing.T) {
	for name, ok := range map[string]bool{
		"api": true, "Größe 7": true, "../../etc": true, ".": true, // names are not paths
		"": false, "a\nb": false, "a\x1b[2J": false, "\xff": false, string(make([]byte, 200)): false,
	} {
		if err := CheckService(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
