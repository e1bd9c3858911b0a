package segment

import (
	"reflect"
	"testing"

	"github.com/meanwhile-go/meanwhile/logs"
)

func someParts() []part {
	return []part{
		{entry: entry{first: 1, count: 2, raw: 40, stored: 10, crc: 7, min: -5, max: 9, codec: quick}, name: "api", client: logs.Client{1}, from: 3, until: 4},
		{entry: entry{first: 9, count: 1, raw: 20, stored: 20, crc: 8}, name: "größe"},
	}
}

func tableOf(parts []part) (table []byte) {
	for i := range parts {
		table = parts[i].appendTable(table)
	}
	return table
}

func TestTable(t *testing.T) {
	want := someParts()
	table := tableOf(want)
	got, ok := parseTable(table)
	want[1].off = 10
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	for i := range table {
		if parts, ok := parseTable(table[:i]); ok && !reflect.DeepEqual(parts, want[:1]) {
			t.Errorf("%d bytes of the table are one: %+v", i, parts)
		}
	}
}

// Any table is parsed to its end, within bounds.
func FuzzTable(f *testing.F) {
	f.Add(tableOf(someParts()))
	f.Fuzz(func(t *testing.T, table []byte) {
		parts, ok := parseTable(table)
		if !ok {
			return
		}
		for _, p := range parts {
			if p.raw > maxRaw || p.count == 0 || logs.CheckService(p.name) != nil {
				t.Fatalf("%+v", p)
			}
		}
	})
}
