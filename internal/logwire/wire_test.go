package logwire

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

var errNotWhole = errors.New("the frame is not whole")

// cutFrame returns the frame at the start of data, and the data after it; errNotWhole if data ends before the frame does.
func cutFrame(data []byte) (kind byte, body, rest []byte, err error) {
	if len(data) < HeadSize {
		return 0, nil, nil, errNotWhole
	}
	size, err := BodySize(data)
	if err != nil {
		return 0, nil, nil, err
	}
	if len(data)-HeadSize < size {
		return 0, nil, nil, errNotWhole
	}
	body, rest = data[HeadSize:HeadSize+size], data[HeadSize+size:]
	return data[0], body, rest, Check(data, body)
}

func TestFrames(t *testing.T) {
	id := [16]byte{1, 2, 3}
	var data []byte
	data = Hello{Client: id, Key: "k"}.Append(data)
	data = Welcome{Last: 1 << 40, Compressions: 2}.Append(data)
	data = AppendRefusal(data, 2, strings.Repeat("x", 2*maxRefusal))
	data = AppendNumber(data, KindAck, 99)
	data = AppendBye(data)

	next := func(kind byte) []byte {
		t.Helper()
		got, body, rest, err := cutFrame(data)
		if err != nil || got != kind {
			t.Fatalf("got frame %q, %v, want %q", got, err, kind)
		}
		data = rest
		return body
	}
	var h Hello
	if err := h.Parse(next(KindHello)); err != nil || h != (Hello{id, "k"}) {
		t.Errorf("got %+v, %v", h, err)
	}
	var w Welcome
	if err := w.Parse(next(KindWelcome)); err != nil || w != (Welcome{1 << 40, 2}) {
		t.Errorf("got %+v, %v", w, err)
	}
	if code, text, err := ParseRefusal(next(KindRefusal)); err != nil || code != 2 || len(text) != maxRefusal {
		t.Errorf("got %d, %q, %v", code, text, err)
	}
	if n, err := ParseNumber(next(KindAck)); err != nil || n != 99 {
		t.Errorf("got %d, %v", n, err)
	}
	if body := next(KindBye); len(body) != 0 {
		t.Errorf("got a body of %d bytes", len(body))
	}
}

func TestCutFrameRefuses(t *testing.T) {
	whole := AppendNumber(nil, KindAck, 5)
	change := func(at int, to byte) []byte {
		b := bytes.Clone(whole)
		b[at] = to
		return b
	}
	tests := []struct {
		name string
		data []byte
		want error
	}{
		{"nothing", nil, errNotWhole},
		{"half a head", whole[:5], errNotWhole},
		{"half a body", whole[:len(whole)-1], errNotWhole},
		{"another kind", change(0, 'Z'), ErrChecksum},
		{"another body", change(12, 1), ErrChecksum},
		{"a giant", change(4, 0x7f), ErrSize},
	}
	for _, test := range tests {
		if _, _, _, err := cutFrame(test.data); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
}

func FuzzFrames(f *testing.F) {
	data := []byte("records")
	head := DataHead{First: 1, Last: 3, Count: 1, Size: len(data), Service: []byte("api")}
	f.Add(append(head.Append(nil, data), data...))
	d := NewDecompressor()
	head.Compression = CompressZstd
	packed := NewCompressor().EncodeAll(data, nil)
	f.Add(append(head.Append(nil, packed), packed...))
	f.Add(Hello{Key: "k"}.Append(nil))
	f.Add(AppendRefusal(nil, 1, "no"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for {
			kind, body, rest, err := cutFrame(data)
			if err != nil {
				// Correct the checksum, so that the checks after it are reached as well.
				if len(data) > HeadSize {
					kind, body = data[0], data[HeadSize:]
				}
				rest = nil
			}
			_ = new(Hello).Parse(body)
			_ = new(Welcome).Parse(body)
			_, _, _ = ParseRefusal(body)
			if kind == KindData {
				if h, payload, err := ParseData(body); err == nil {
					raw := payload
					if h.Compression == CompressZstd {
						if raw, err = Decompress(d, nil, payload, h.Size); err != nil {
							return
						}
					}
					if len(raw) != h.Size {
						t.Errorf("%d bytes of records, but the head has %d", len(raw), h.Size)
					}
				}
			}
			if len(rest) == 0 {
				return
			}
			data = rest
		}
	})
}
