package storage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A foundRecords finder finds its records sorted by time.
type foundRecords struct {
	storage.Finder
	all []logs.Record
}

func (f foundRecords) Find(_ context.Context, q storage.Query) meanwhile.Stream[logs.Record] {
	all := slices.SortedFunc(slices.Values(f.all), func(a, b logs.Record) int { return a.Time.Compare(b.Time) })
	return meanwhile.Filter(meanwhile.From(slices.Values(all)), func(r logs.Record) bool {
		v := r.View()
		return q.Filter.Match(&v) && q.Limit == 0 && !q.Newest
	})
}

func TestCountBy(t *testing.T) {
	at := func(minutes int) time.Time {
		return time.Date(2026, 5, 4, 3, 0, 30, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
	}
	record := func(minutes int, service string, level slog.Level, attrs ...slog.Attr) logs.Record {
		return logs.Record{Time: at(minutes), Service: service, Level: level, Message: "x", Attrs: attrs}
	}
	f := foundRecords{all: []logs.Record{
		record(0, "api", slog.LevelWarn, slog.Int("status", 503)), record(1, "api", slog.LevelInfo, slog.Int("status", 200)),
		record(11, "api", slog.LevelWarn, slog.Int("status", 503)), record(3, "web", slog.LevelWarn), record(7, "web", slog.LevelDebug),
	}}
	group := func(count int64, parts []int64, values ...string) storage.Group {
		return storage.Group{Values: append([]string{}, values...), Count: count, Parts: parts}
	}
	tests := map[string]struct {
		by     []string
		every  time.Duration
		filter string
		want   storage.Counts
	}{
		"all":           {want: storage.Counts{Records: 5, Groups: []storage.Group{group(5, nil)}}},
		"nothing":       {filter: "missing", by: []string{"level"}, want: storage.Counts{Groups: []storage.Group{}}},
		"service":       {by: []string{"service"}, want: storage.Counts{Records: 5, Groups: []storage.Group{group(3, nil, "api"), group(2, nil, "web")}}},
		"level,service": {by: []string{"level", "service"}, filter: "level>=info", want: storage.Counts{Records: 4, Groups: []storage.Group{group(2, nil, "WARN", "api"), group(1, nil, "INFO", "api"), group(1, nil, "WARN", "web")}}},
		"an attribute":  {by: []string{"status"}, want: storage.Counts{Records: 5, Groups: []storage.Group{group(2, nil, ""), group(2, nil, "503"), group(1, nil, "200")}}},
		"every 5 minutes": {by: []string{"service"}, every: 5 * time.Minute, want: storage.Counts{
			Records: 5, Since: at(0).Truncate(time.Minute), Groups: []storage.Group{group(3, []int64{2, 0, 1}, "api"), group(2, []int64{1, 1, 0}, "web")},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			filter, err := filter.Parse(test.filter)
			if err != nil {
				t.Fatal(err)
			}
			got, err := storage.CountBy(t.Context(), f, storage.Query{Filter: filter, Limit: 1, Newest: true}, test.by, test.every)
			if err != nil {
				t.Fatal(err)
			}
			test.want.By, test.want.Every = test.by, test.every
			if !reflect.DeepEqual(*got, test.want) {
				t.Errorf("got  %+v\nwant %+v", *got, test.want)
			}
		})
	}
	for _, by := range [][]string{{"time"}, {"number"}, {""}, make([]string, 11)} {
		if _, err := storage.CountBy(t.Context(), f, storage.Query{}, by, 0); !errors.Is(err, storage.ErrCounts) {
			t.Errorf("by %q: %v", by, err)
		}
	}
	if _, err := storage.CountBy(t.Context(), f, storage.Query{}, nil, time.Millisecond); !errors.Is(err, storage.ErrCounts) {
		t.Errorf("in 660,000 parts: %v", err)
	}
}

// TestCountByIsBounded: the number of groups is bounded, and all records are counted.
func TestCountByIsBounded(t *testing.T) {
	const n = 12_000
	var f foundRecords
	for i := range n {
		f.all = append(f.all, logs.Record{Service: "api", Message: fmt.Sprint(i), Time: time.Unix(int64(i), 0)})
	}
	got, err := storage.CountBy(t.Context(), f, storage.Query{}, []string{"message"}, 0)
	if err != nil || got.Records != n || len(got.Groups) != 1000 || got.Others != n-1000 {
		t.Errorf("%d records, %d groups, %d others, %v", got.Records, len(got.Groups), got.Others, err)
	}
}

// An unsortedRecords finder finds its records in the order of the slice, as a store may do if many records were appended out of order.
type unsortedRecords struct {
	storage.Finder
	all []logs.Record
}

func (f unsortedRecords) Find(context.Context, storage.Query) meanwhile.Stream[logs.Record] {
	return meanwhile.From(slices.Values(f.all))
}

// TestCountByOutOfOrder: records are counted even if they are found out of order. Those that are earlier than the first one are in the first
// interval.
func TestCountByOutOfOrder(t *testing.T) {
	var f unsortedRecords
	for _, minute := range []int64{10, 14, 3, 11} {
		f.all = append(f.all, logs.Record{Service: fmt.Sprint("s", minute%2), Time: time.Unix(60*minute, 0)})
	}
	got, err := storage.CountBy(t.Context(), f, storage.Query{}, []string{"service"}, time.Minute)
	want := []storage.Group{{Values: []string{"s0"}, Count: 2, Parts: []int64{1, 0, 0, 0, 1}}, {Values: []string{"s1"}, Count: 2, Parts: []int64{1, 1, 0, 0, 0}}}
	if err != nil || !reflect.DeepEqual(got.Groups, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// TestCountByValues: long values are truncated, and values with a NUL are distinguished.
func TestCountByValues(t *testing.T) {
	f := foundRecords{all: []logs.Record{
		{Message: "a\x00", Task: "b"}, {Message: "a", Task: "\x00b"}, {Message: "x" + strings.Repeat("é", 1000)}, {Message: "x" + strings.Repeat("é", 2000)},
	}}
	got, err := storage.CountBy(t.Context(), f, storage.Query{}, []string{"message", "task"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, g := range got.Groups {
		values = append(values, fmt.Sprintf("%q %d", g.Values, g.Count))
	}
	want := []string{fmt.Sprintf("%q 2", []string{"x" + strings.Repeat("é", 99) + "…", ""}), `["a" "\x00b"] 1`, `["a\x00" "b"] 1`}
	if !slices.Equal(values, want) {
		t.Errorf("got %q, want %q", values, want)
	}
}

// TestCountByIsOneLine: the returned groups fit into a line of the protocol of package remote, whatever their values are, and the records of
// the other groups are counted as others.
func TestCountByIsOneLine(t *testing.T) {
	const n = 1000
	var f foundRecords
	by := []string{"message", "task", "job", "a", "b", "c", "d", "e", "f", "g"}
	for i := range n {
		value := fmt.Sprintf("%4d", i) + strings.Repeat("\x01", 190)
		r := logs.Record{Message: value, Task: value, Job: value, Time: time.Unix(int64(i), 0)}
		for _, key := range by[3:] {
			r.Attrs = append(r.Attrs, slog.String(key, value))
		}
		f.all = append(f.all, r)
	}
	for _, every := range []time.Duration{0, time.Second} {
		got, err := storage.CountBy(t.Context(), f, storage.Query{}, by, every)
		if err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(got)
		sum := got.Others
		for _, g := range got.Groups {
			sum += g.Count
		}
		if err != nil || len(line) > 5<<20 || sum != n || len(got.Groups) < 100 {
			t.Errorf("every %v: %d groups in %d bytes, %d records in all, %v", every, len(got.Groups), len(line), sum, err)
		}
	}
}
