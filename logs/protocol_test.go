package logs

import (
	"bytes"
	"encoding/hex"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/logwire"
)

// TestProtocolExamples compares the examples in docs/logs-protocol.md with the bytes that are sent.
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
	head, payload := (&outBatch{Batch: b}).frame(nil)
	frames := [][]byte{
		logwire.Hello{Client: id, Key: "secret"}.Append(nil),
		append(head, payload...),
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
