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

func TestFrame(t *testing.T) {
	want := someParts()
	frame := appendFrame(nil, want, 17)
	table, body, kept, ok := frameSizes(frame)
	if !ok || int(table) != len(frame)-frameHead || body != 30 || kept != 17 {
		t.Fatal(table, body, kept, ok)
	}
	got, ok := parseTable(frame[:frameHead], frame[frameHead:])
	want[1].off = 10
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	for i := range frame {
		frame[i] ^= 0x10
		if _, ok := parseTable(frame[:frameHead], frame[frameHead:]); ok {
			t.Errorf("byte %d changed, and nobody notices", i)
		}
		frame[i] ^= 0x10
	}
}

// Whatever is read, it ends, within bounds.
func FuzzFrame(f *testing.F) {
	frame := appendFrame(nil, someParts(), 17)
	f.Add(frame[frameHead:], uint64(30))
	f.Fuzz(func(t *testing.T, table []byte, body uint64) {
		head := appendFrame(nil, nil, 0)
		head[8] = byte(body)
		sum := checksum(head[:24]) ^ checksum(table)
		head[24], head[25], head[26], head[27] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
		parts, ok := parseTable(head, table)
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
