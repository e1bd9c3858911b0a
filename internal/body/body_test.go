package body_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/body"
)

// A budget counts the free bytes.
type budget struct{ free int }

func (r *budget) TryAcquire(n int) bool {
	if n > r.free {
		return false
	}
	r.free -= n
	return true
}

func (r *budget) Release(n int) { r.free += n }

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := io.WriteString(w, text)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const most = 20_000

// TestRead: the size of a body is limited before and after decompression and by the budget, and release frees all that was acquired.
func TestRead(t *testing.T) {
	text := strings.Repeat("many words ", most/11)
	packed := gzipped(t, text)
	damaged := []byte(packed)
	damaged[len(damaged)-8]++ // the checksum
	bomb := gzipped(t, strings.Repeat("x", 1000*most))
	for name, test := range map[string]struct {
		encoding, sent string
		space          int // free bytes of the budget; 0 means plenty
		want           string
		status         int // of the problem; 0 is none
		says           string
	}{
		"plain":                 {"", text, 0, text, 0, ""},
		"empty":                 {"", "", 0, "", 0, ""},
		"identity":              {"identity", text, 0, text, 0, ""},
		"as large as may be":    {"", strings.Repeat("x", most), 0, strings.Repeat("x", most), 0, ""},
		"one byte too many":     {"", strings.Repeat("x", most+1), 0, "", http.StatusRequestEntityTooLarge, "at most"},
		"gzip":                  {"gzip", packed, 0, text, 0, ""},
		"x-gzip":                {"x-gzip", packed, 0, text, 0, ""},
		"gzip of the most":      {"gzip", gzipped(t, strings.Repeat("x", most)), 0, strings.Repeat("x", most), 0, ""},
		"gzip of one byte more": {"gzip", gzipped(t, strings.Repeat("x", most+1)), 0, "", http.StatusRequestEntityTooLarge, "at most"},
		"a gzip bomb":           {"gzip", bomb[:most/2], 0, "", http.StatusRequestEntityTooLarge, "at most"},
		"no gzip":               {"gzip", text, 0, "", http.StatusBadRequest, "gzip: invalid header"},
		"gzip that is cut off":  {"gzip", packed[:len(packed)/2], 0, "", http.StatusBadRequest, "could not be read to its end"},
		"gzip with a wrong sum": {"gzip", string(damaged), 0, "", http.StatusBadRequest, "gzip: invalid checksum"},
		"another encoding":      {"zstd", packed, 0, "", http.StatusUnsupportedMediaType, "send gzip"},
		"no room at all":        {"", text, 1, "", http.StatusServiceUnavailable, "too much at once"},
		"no room for the rest":  {"", text, 2 * most, "", http.StatusServiceUnavailable, "too much at once"},
		"just enough room":      {"", text, 2 * (most + 1), text, 0, ""},
		"no room unpacked":      {"gzip", packed, 2 * most, "", http.StatusServiceUnavailable, "too much at once"},
	} {
		t.Run(name, func(t *testing.T) {
			free := test.space
			if free == 0 {
				free = 10 * most
			}
			r := &budget{free}
			request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(test.sent))
			request.Header.Set("Content-Encoding", test.encoding)
			got, release, err := (&body.Reader{Most: most, Budget: r}).Read(request)
			if string(got) != test.want {
				t.Errorf("got %d bytes, want %d", len(got), len(test.want))
			}
			problem, _ := errors.AsType[*body.Problem](err)
			if (problem == nil) != (test.status == 0) || problem == nil && err != nil {
				t.Fatalf("got %v, want status %d", err, test.status)
			}
			if problem != nil && (problem.Status != test.status || !strings.Contains(problem.Text, test.says)) {
				t.Errorf("got %d %q, want %d and %q in it", problem.Status, problem.Text, test.status, test.says)
			}
			if taken := free - r.free; taken < 2*len(got) {
				t.Errorf("a body of %d bytes takes %d of the room, want twice as many", len(got), taken)
			}
			if release(); r.free != free {
				t.Errorf("after release %d bytes of the room are free, want %d", r.free, free)
			}
		})
	}
}
