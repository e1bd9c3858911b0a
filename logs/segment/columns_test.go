package segment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// blockOf closes a block of records, and returns it with the file it would be in.
func blockOf(records []logs.Record, c codec) (*block, *bytes.Reader) {
	b := newBlock()
	b.first, b.count = 5, uint32(len(records))
	for i := range records {
		v := records[i].View()
		b.data = v.Append(b.data)
	}
	b.close(c)
	return b, bytes.NewReader(b.stored)
}

func someRecords() *rapid.Generator[[]logs.Record] {
	keys := rapid.SampledFrom([]string{"status", "took", "path", "id", ""})
	return rapid.Custom(func(t *rapid.T) []logs.Record {
		many := rapid.SampledFrom([]int{1, 3, 70, 300, 5000}).Draw(t, "distinct")
		unit := rapid.SampledFrom([]int64{1, 1000, 1 << 40}).Draw(t, "unit")
		n := rapid.SampledFrom([]int{1, 2, 63, 64, 65, 700}).Draw(t, "records")
		seed := rapid.Uint64().Draw(t, "seed")
		next := func(n int) int {
			seed = seed*6364136223846793005 + 1442695040888963407
			return int(seed>>33) % n
		}
		var shapes [][]string
		for range rapid.IntRange(1, 4).Draw(t, "shapes") {
			shapes = append(shapes, rapid.SliceOfN(keys, 0, 4).Draw(t, "keys"))
		}
		kinds := rapid.IntRange(1, 9).Draw(t, "kinds")
		var records []logs.Record
		at := int64(1_700_000_000_000_000_000)
		for range n {
			at += int64(next(many)) * unit
			x := next(many)
			r := logs.Record{
				Time: time.Unix(0, at), Level: slog.Level(4 * next(4)), Service: "api", Message: fmt.Sprintf("request %d took Long", x), Task: strings.Repeat("main/a", next(2)),
				Job: strings.Repeat("job", next(2)),
			}
			for i, key := range shapes[next(len(shapes))] {
				y := int64(next(many)) - 1
				var value any
				switch (i + next(kinds)) % 9 {
				case 0:
					value = fmt.Sprint("/api/", y)
				case 1:
					value = y * unit
				case 2:
					value = uint64(y)
				case 3:
					value = float64(y) / 4
				case 4:
					value = y%2 == 0
				case 5:
					value = time.Duration(y * unit)
				case 6:
					value = time.Unix(y, 0)
				case 7:
					value = json.RawMessage(fmt.Sprintf("[%d]", y))
				case 8:
					value = fmt.Sprintf("%016x", uint64(y)*0x9e3779b97f4a7c15)
				}
				r.Attrs = append(r.Attrs, slog.Any(key, value))
			}
			records = append(records, r)
		}
		return records
	})
}

var columnFilters = []string{
	"", "request", `"request 3"`, "req*", "message=x", "message~t.*g$", "level>=warn", "level=info,error", "-level=debug", "task=main", "task=*", "job=job", "job!=job", "service=api request", "service=web",
	"number>=70", "time>=2023-11-14T22:13:21", "status=3", "status=/api/3", "status!=3", "status=*", "path~api/.[0-9]", "path=/api/1,/api/2,7", "took>=2", "took<1ms", "id>-1", "id<=2023-11-14", "id=true", "id=0.25",
	"path=/api*", "status>=2 took<70 -id=5", "(status=1 or took=2s) -path=*", "id=18446744073709551615", "status>1970-01-01T00:00:01", `""=*`, "not (status>3 or path=*)", "id=2s", "path~^.?$",
}

// Columns return the records they were made of, and those that a filter matches; the index of words excludes none of these.
func TestColumnsLaw(t *testing.T) {
	t.Parallel()
	var filters []filter.Filter
	for _, text := range columnFilters {
		f, err := filter.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		filters = append(filters, f)
	}
	rapid.Check(t, func(t *rapid.T) {
		records := someRecords().Draw(t, "all")
		b, file := blockOf(records, rapid.SampledFrom([]codec{quick, dense}).Draw(t, "codec"))
		if b.head == 0 {
			t.Fatal("it has no columns")
		}
		_, raw, err := b.entry.readRecords(file, nil, nil)
		if err != nil || !bytes.Equal(raw, b.data) {
			t.Fatalf("%d bytes came back of %d: %v", len(raw), len(b.data), err)
		}
		for _, f := range filters {
			w := wants(storage.Query{Filter: f})
			if since := rapid.IntRange(0, 2*len(records)).Draw(t, "since"); since < len(records) {
				w.since, w.until = records[since].Time.UnixNano(), records[rapid.IntRange(since, len(records)-1).Draw(t, "until")].Time.UnixNano()
			}
			r, err := openColumns(file, &b.entry, []byte("api"))
			if err != nil {
				t.Fatal(err)
			}
			rows, err := r.wanted(&w, 6, 1<<40)
			if err != nil {
				t.Fatal(err)
			}
			var got, want []byte
			var numbers []uint64
			if got, numbers, err = r.records(nil, nil, rows); err != nil || len(numbers) != rows.Count() {
				t.Fatal(err)
			}
			r.close()
			v := logs.View{Service: []byte("api"), Number: b.first}
			for rest := b.data; len(rest) > 0; v.Number++ {
				record := rest
				if rest, err = v.Next(rest); err != nil {
					t.Fatal(err)
				}
				if v.Number < 6 || !w.record(&v) {
					continue
				}
				if want = append(want, record[:len(record)-len(rest)]...); len(numbers) == 0 || numbers[0] != v.Number {
					t.Fatalf("%s: record %d is not found", f, v.Number)
				}
				numbers = numbers[1:]
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%s: got %q, want %q", f, got, want)
			}
			for _, token := range f.Tokens() {
				if len(want) > 0 && !has(b.words, token) {
					t.Fatalf("%s: the index leaves out the block", f)
				}
			}
		}
	})
}

// A few of many records are read from their columns without reading all of these.
func TestSomeOfColumns(t *testing.T) {
	var records []logs.Record
	for i := range 1000 {
		r := logs.Record{Time: time.Unix(int64(i*i), 0), Message: fmt.Sprint("message ", i*i), Attrs: []slog.Attr{slog.Int("n", i*i), slog.String("id", fmt.Sprintf("%08x", i*i)), slog.String("fixed", fmt.Sprintf("#%08d", i))}}
		if i%2 == 0 {
			r.Attrs = append(r.Attrs, slog.String("even", fmt.Sprint(i)), slog.Duration("took", time.Duration(i*i)))
		}
		records = append(records, r)
	}
	b, file := blockOf(records, dense)
	r, err := openColumns(file, &b.entry, []byte("api"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	rows, some := filter.NewRows(1000), []int{0, 7, 8, 500, 999}
	for row := range filter.NewRows(1000).Each {
		if !slices.Contains(some, row) {
			rows.Remove(row)
		}
	}
	raw, numbers, err := r.records(nil, nil, rows)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range some {
		var v logs.View
		if raw, err = v.Next(raw); err != nil {
			t.Fatal(err)
		}
		got, want := v.Record(), records[row].View()
		if wanted := want.Record(); !reflect.DeepEqual(got, wanted) || numbers[i] != b.first+uint64(row) {
			t.Errorf("got %+v, want %+v, number %d", got, wanted, numbers[i])
		}
	}
	if !r.columns[roleMessage].sparse || r.columns[roleMessage].loaded {
		t.Error("all messages were read")
	}
}

// Records that are too different, or that would be encoded differently, are stored one after the other.
func TestBlockWithoutColumns(t *testing.T) {
	var unlike []logs.Record
	for i := range 3000 {
		unlike = append(unlike, logs.Record{Time: time.Unix(1, 0), Message: "x", Attrs: []slog.Attr{slog.Int(fmt.Sprint("key", i), i)}})
	}
	same := func(*block) {}
	long := func(b *block) { // a level encoded in three bytes, where one is enough
		var v logs.View
		rest, _ := v.Next(b.data)
		first := b.data[:len(b.data)-len(rest)]
		changed := append([]byte{first[0] + 2}, first[1:9]...)
		changed = append(append(changed, 0x80, 0x80, 0), first[10:]...)
		b.data = append(changed, rest...)
	}
	for name, test := range map[string]struct {
		records []logs.Record
		change  func(*block)
	}{"unlike": {unlike, same}, "long": {unlike[:2], long}} {
		b := newBlock()
		b.first, b.count = 1, uint32(len(test.records))
		for i := range test.records {
			v := test.records[i].View()
			b.data = v.Append(b.data)
		}
		test.change(b)
		b.close(dense)
		_, raw, err := b.entry.readRecords(bytes.NewReader(b.stored), nil, nil)
		if b.head != 0 || err != nil || !bytes.Equal(raw, b.data) {
			t.Errorf("%s: head of %d bytes, %d of %d bytes, %v", name, b.head, len(raw), len(b.data), err)
		}
	}
}

// A block whose records would be larger than it says is damaged: it does not use more memory than others.
func TestColumnsAreBounded(t *testing.T) {
	records := make([]logs.Record, 1000)
	for i := range records {
		records[i] = logs.Record{Time: time.Unix(1, 0), Message: strings.Repeat("x", 1000)}
	}
	b, file := blockOf(records, dense)
	if len(b.stored) > 2000 {
		t.Errorf("%d bytes", len(b.stored))
	}
	b.raw = 20_000
	_, raw, err := b.entry.readRecords(file, nil, nil)
	if !errors.Is(err, errDamaged) || len(raw) > 30_000 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
}

// Any head leads to bounded memory, or to an error.
func FuzzColumnHead(f *testing.F) {
	for _, records := range [][]logs.Record{
		{{Message: "x"}}, {{Message: "a", Attrs: []slog.Attr{slog.Int("n", 1), slog.Bool("b", true)}}, {Message: "b", Attrs: []slog.Attr{slog.String("s", "1"), slog.Float64("f", math.Pi)}}},
	} {
		b, _ := blockOf(records, dense)
		f.Add(b.stored[:b.head], b.stored[b.head:], b.count)
	}
	f.Fuzz(func(t *testing.T, head, body []byte, count uint32) {
		file := bytes.NewReader(append(bytes.Clone(head), body...))
		e := entry{head: uint32(len(head)), stored: uint32(len(head) + len(body)), raw: 1 << 16, crc: checksum(head), count: count % 5000, first: 1}
		if _, raw, err := e.readRecords(file, nil, nil); err != nil && !errors.Is(err, errDamaged) || len(raw) > 1<<18 {
			t.Fatalf("%d bytes, %v", len(raw), err)
		}
	})
}

// Any bytes of a column are read as values, or are damaged.
func FuzzColumn(f *testing.F) {
	f.Add(byte(formDict), byte(slog.KindString), byte(0), uint16(3), []byte("\x02\x01\x01ab\x00\x01\x00"))
	f.Add(byte(formPlain), byte(slog.KindInt64), byte(2), uint16(2), []byte("abcd"))
	f.Add(byte(formDelta), byte(slog.KindTime), byte(1), uint16(3), []byte("12345678ab"))
	f.Add(byte(formHex), byte(slog.KindString), byte(0), uint16(2), []byte("\x04abcd"))
	f.Add(byte(formFixed), byte(slog.KindAny), byte(0), uint16(2), []byte("\x02abcd"))
	f.Fuzz(func(t *testing.T, form, kind, width byte, count uint16, payload []byte) {
		n := int(count)%5000 + 1
		r := &columnReader{entry: &entry{count: uint32(n)}}
		c := &storedColumn{reader: r, role: roleAttr, kind: columnKinds[int(kind)%len(columnKinds)].kind, count: n, payload: payload, packing: packing{form: form, width: width, unit: 1}}
		ok := false
		if c.isText() {
			ok = c.unpackTexts()
		} else {
			ok = c.unpackNumbers()
		}
		if !ok {
			return
		}
		for i := range n {
			if v := at(&c.values, i); v.Kind() != c.kind {
				t.Fatalf("a value of kind %v, not %v", v.Kind(), c.kind)
			}
		}
	})
}
