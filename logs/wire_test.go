package logs

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

var errNotWhole = errors.New("the frame is not whole")

// cutFrame returns the frame at the beginning of data, and what follows it; errNotWhole when data ends before the frame.
func cutFrame(data []byte) (kind byte, body, rest []byte, err error) {
	if len(data) < wireHead {
		return 0, nil, nil, errNotWhole
	}
	size, err := frameSize(data)
	if err != nil {
		return 0, nil, nil, err
	}
	if len(data)-wireHead < size {
		return 0, nil, nil, errNotWhole
	}
	body, rest = data[wireHead:wireHead+size], data[wireHead+size:]
	return data[0], body, rest, checkFrame(data, body)
}

func TestFrames(t *testing.T) {
	id := [16]byte{1, 2, 3}
	var data []byte
	data = hello{client: id, key: "k"}.append(data)
	data = welcome{last: 1 << 40, compressions: 2}.append(data)
	data = appendRefusal(data, 2, strings.Repeat("x", 2*maxRefusal))
	data = appendNumber(data, frameAck, 99)
	data = appendBye(data)

	next := func(kind byte) []byte {
		t.Helper()
		got, body, rest, err := cutFrame(data)
		if err != nil || got != kind {
			t.Fatalf("got frame %q, %v, want %q", got, err, kind)
		}
		data = rest
		return body
	}
	var h hello
	if err := h.parse(next(frameHello)); err != nil || h != (hello{id, "k"}) {
		t.Errorf("got %+v, %v", h, err)
	}
	var w welcome
	if err := w.parse(next(frameWelcome)); err != nil || w != (welcome{1 << 40, 2}) {
		t.Errorf("got %+v, %v", w, err)
	}
	if code, text, err := parseRefusal(next(frameRefusal)); err != nil || code != 2 || len(text) != maxRefusal {
		t.Errorf("got %d, %q, %v", code, text, err)
	}
	if n, err := parseNumber(next(frameAck)); err != nil || n != 99 {
		t.Errorf("got %d, %v", n, err)
	}
	if body := next(frameBye); len(body) != 0 {
		t.Errorf("got a body of %d bytes", len(body))
	}
}

func TestCutFrameRefuses(t *testing.T) {
	whole := appendNumber(nil, frameAck, 5)
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
		{"another kind", change(0, 'Z'), errChecksum},
		{"another body", change(12, 1), errChecksum},
		{"a giant", change(4, 0x7f), errFrameSize},
	}
	for _, test := range tests {
		if _, _, _, err := cutFrame(test.data); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
}

func FuzzFrames(f *testing.F) {
	data := []byte("records")
	head := dataHead{first: 1, last: 3, count: 1, size: len(data), service: []byte("api")}
	f.Add(append(head.append(nil, data), data...))
	d := newDecompressor()
	head.compression = compressZstd
	packed := newCompressor().EncodeAll(data, nil)
	f.Add(append(head.append(nil, packed), packed...))
	f.Add(hello{key: "k"}.append(nil))
	f.Add(appendRefusal(nil, 1, "no"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for {
			kind, body, rest, err := cutFrame(data)
			if err != nil {
				// What is below the checksum is to be reached as well.
				if len(data) > wireHead {
					kind, body = data[0], data[wireHead:]
				}
				rest = nil
			}
			_ = new(hello).parse(body)
			_ = new(welcome).parse(body)
			_, _, _ = parseRefusal(body)
			if kind == frameData {
				if h, payload, err := parseData(body); err == nil {
					raw := payload
					if h.compression == compressZstd {
						if raw, err = decompress(d, nil, payload, h.size); err != nil {
							return
						}
					}
					if len(raw) != h.size {
						t.Errorf("%d bytes of records, said to be %d", len(raw), h.size)
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
