package dash_test

import (
	"compress/gzip"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func unzipped(t *testing.T, text string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Errorf("after %d bytes: %v", len(plain), err)
	}
	return string(plain)
}

// TestGzip: a browser receives the same content compressed and uncompressed.
func TestGzip(t *testing.T) {
	s := memory.New()
	id := enqueue(t, s, "mail", `{}`, 1)[0].ID.String()
	h := dash.New(dash.Config{Store: s})
	for _, path := range []string{"/crons", "/jobs/" + id + "/raw", "/static/dash.js", "/static/dash.css", "/nothing"} {
		plain := get(t, h, path)
		for header, packed := range map[string]bool{
			"gzip": true, "br, GZIP;q=0.5": true, "gzip;q=1.0, identity": true, "gzip; q=0": false, "gzip;q=0.000": false, "br": false, "": false,
		} {
			r := httptest.NewRequest("GET", path, nil)
			r.Header.Set("Accept-Encoding", header)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got := w.Body.String()
			if (w.Header().Get("Content-Encoding") == "gzip") != packed || !strings.Contains(strings.Join(w.Header().Values("Vary"), ","), "Accept-Encoding") {
				t.Errorf("%s for %q: %v", path, header, w.Header())
				continue
			}
			if packed {
				got = unzipped(t, got)
			}
			if w.Code != plain.Code || w.Header().Get("Content-Type") != plain.Header().Get("Content-Type") || got != plain.Body.String() {
				t.Errorf("%s for %q: status %d, %s, %.200s", path, header, w.Code, w.Header().Get("Content-Type"), got)
			}
			if packed && path != "/jobs/"+id+"/raw" && w.Body.Len()*2 > len(got) {
				t.Errorf("%s: %d bytes of %d", path, w.Body.Len(), len(got))
			}
		}
	}
}

// TestGzipStream: a compressed stream has the same events as an uncompressed one, each as soon as it is sent, and a proper end.
func TestGzipStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		h := dash.New(dash.Config{Store: s})
		enqueue(t, s, "mail", `{}`, 20)
		plain, packed := open(t, h, "/jobs", 0), open(t, h, "/jobs", 0, "Accept-Encoding", "gzip")
		time.Sleep(300 * time.Millisecond)
		for range 5 {
			enqueue(t, s, "mail", `{}`, 1)
			time.Sleep(2 * time.Second)
			r, err := gzip.NewReader(strings.NewReader(packed.events()))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != io.ErrUnexpectedEOF || string(got) != plain.events() {
				t.Fatalf("%v after %.300s, want %.300s", err, got, plain.events())
			}
		}
		if len(packed.events())*3 > len(plain.events()) {
			t.Errorf("%d bytes of %d", len(packed.events()), len(plain.events()))
		}
		testenv.LongTest(t) // pages are rendered for ten minutes
		<-packed.ended
		<-plain.ended
		if got := unzipped(t, packed.events()); got != plain.events() {
			t.Errorf("in the end %d bytes, want %d", len(got), len(plain.events()))
		}
	})
}

// TestDigitsCostLittle: when only digits change, a page costs at most 3 KB a second, however many queues it shows.
func TestDigitsCostLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		h := dash.New(dash.Config{Store: s})
		step := func(i int) {
			for q := range 20 {
				enqueue(t, s, "kind-"+string(rune('a'+q)), `{}`, 1+(i*q)%3, job.Queue("queue-"+string(rune('a'+q))))
			}
		}
		step(1)
		var readers, plain []*reader
		for _, path := range []string{"/", "/queues", "/queue?name=queue-c", "/kind?name=kind-c"} {
			readers = append(readers, open(t, h, path, 0, "Accept-Encoding", "gzip"))
			plain = append(plain, open(t, h, path, 0))
		}
		time.Sleep(300 * time.Millisecond)
		var before, beforePlain []int
		for i, r := range readers {
			before, beforePlain = append(before, len(r.events())), append(beforePlain, len(plain[i].events()))
		}
		for i := range 30 {
			step(i)
			time.Sleep(time.Second)
		}
		for i, r := range readers {
			if got := (len(r.events()) - before[i]) / 30; got < 50 || got > 3000 {
				t.Errorf("page %d costs %d bytes a second", i, got)
			}
			if got, all := len(r.events())-before[i], len(plain[i].events())-beforePlain[i]; got > all/2 {
				t.Errorf("page %d costs %d bytes, and %d without compression", i, got, all)
			}
		}
	})
}
