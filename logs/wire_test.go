package logs

import (
	"bytes"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestProtocolExamples holds the bytes in the protocol's page against what is sent.
func TestProtocolExamples(t *testing.T) {
	page, err := os.ReadFile("../docs/logs-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	var id Client
	for i := range id {
		id[i] = byte(i)
	}
	b := Batch{Service: "api", Client: id, First: 7, Last: 7}
	v := View{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano(), Message: []byte("hello")}
	v.AddAttr(slog.Int("n", 3))
	b.Add(&v)
	frames := [][]byte{
		hello{client: id, key: "secret"}.append(nil),
		append(appendData(nil, &b, compressNone, b.Data), b.Data...),
	}
	examples := regexp.MustCompile("(?s)```text\n([0-9a-f \n]+)```").FindAllSubmatch(page, -1)
	if len(examples) != len(frames) {
		t.Fatalf("the page has %d examples, want %d", len(examples), len(frames))
	}
	for i, frame := range frames {
		want, err := hex.DecodeString(strings.Join(strings.Fields(string(examples[i][1])), ""))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(frame, want) {
			t.Errorf("example %d:\ngot  % x\nwant % x", i+1, frame, want)
		}
	}
}

// SendRaw sends a record of a service by the own protocol, as a client that checks nothing does, and waits for the acknowledgement.
func SendRaw(t *testing.T, address, service, message string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	b := Batch{Service: service, Client: NewClient(), First: 1, Last: 1}
	b.Add(&View{Time: time.Now().UnixNano(), Message: []byte(message)})
	r := rawClient{t: t, conn: conn, in: newFrameReader(conn)}
	r.send(hello{client: b.Client}.append([]byte(wireMagic)))
	r.send(append(appendData(nil, &b, compressNone, b.Data), b.Data...))
	for _, want := range []byte{frameWelcome, frameAck} {
		if kind, n, refusal := r.next(); kind != want {
			t.Errorf("got %c, %d, %v, want %c", kind, n, refusal, want)
		}
	}
}

func TestFrames(t *testing.T) {
	id := NewClient()
	var data []byte
	data = hello{client: id, key: "k"}.append(data)
	data = welcome{last: 1 << 40, compressions: 2}.append(data)
	data = (&Refusal{Code: RefusedKey, Text: strings.Repeat("x", 2*maxRefusal)}).append(data)
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
	var r Refusal
	if err := r.parse(next(frameRefusal)); err != nil || r.Code != RefusedKey || len(r.Text) != maxRefusal {
		t.Errorf("got %+v, %v", r, err)
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
		{"nothing", nil, errTorn},
		{"half a head", whole[:5], errTorn},
		{"half a body", whole[:len(whole)-1], errTorn},
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
	b := Batch{Service: "api", First: 1, Last: 3}
	b.Add(&View{Time: 5, Message: []byte("m")})
	f.Add(append(appendData(nil, &b, compressNone, b.Data), b.Data...))
	d := newDecompressor()
	packed := newCompressor().EncodeAll(b.Data, nil)
	f.Add(append(appendData(nil, &b, compressZstd, packed), packed...))
	f.Add(hello{key: "k"}.append(nil))
	f.Add((&Refusal{Code: 1, Text: "no"}).append(nil))
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
			_ = new(Refusal).parse(body)
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
					_ = checkBatch(&Batch{Service: string(h.service), Count: h.count, Min: h.min, Max: h.max, Data: raw})
				}
			}
			if len(rest) == 0 {
				return
			}
			data = rest
		}
	})
}
