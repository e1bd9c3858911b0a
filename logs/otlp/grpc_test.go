package otlp

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
)

// framed returns a message in the form in which gRPC sends it.
func framed(flag byte, message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{flag}, uint32(len(message))), message...)
}

// serveHTTP2 serves a handler over HTTP/2 without TLS, and returns its address and a client.
func serveHTTP2(t *testing.T, h http.Handler) (address string, client *http.Client) {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := httptest.NewUnstartedServer(h)
	server.Config.Protocols = protocols
	server.Start()
	t.Cleanup(server.Close)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return server.URL, &http.Client{Transport: transport}
}

func TestCall(t *testing.T) {
	message, err := proto.Marshal(ofAllKinds())
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		kind, encoding string
		body           []byte
		fails          error // of the batcher
		code, text     string
		records        int
	}{
		"plain":              {body: framed(0, message), code: "0", records: 4},
		"its type said":      {kind: "application/grpc+proto", body: framed(0, message), code: "0", records: 4},
		"gzip":               {encoding: "gzip", body: framed(1, packed(t, message)), code: "0", records: 4},
		"gzip, not used":     {encoding: "gzip", body: framed(0, message), code: "0", records: 4},
		"nothing to export":  {body: framed(0, nil), code: "0"},
		"malformed":          {body: framed(0, append(message[:len(message):len(message)], 0x0a, 0x7f)), code: "3", text: "after 4 records", records: 4},
		"no frame":           {body: []byte{0, 0}, code: "3", text: "no message"},
		"half of a message":  {body: framed(0, message)[:20], code: "3", text: "bytes early"},
		"two messages":       {body: append(framed(0, message), framed(0, message)...), code: "3", text: "more follows"},
		"a wrong flag":       {body: framed(2, message), code: "3", text: "no message"},
		"too large":          {body: []byte{0, 0xff, 0xff, 0xff, 0xff}, code: "8", text: "16 MiB"},
		"a bomb":             {encoding: "gzip", body: framed(1, packed(t, make([]byte, MaxBody+1))), code: "8", text: "16 MiB"},
		"another encoding":   {encoding: "snappy", body: framed(1, message), code: "12", text: "send gzip"},
		"the disk is full":   {body: framed(0, message), fails: fmt.Errorf("disk: %w", logs.ErrFull), code: "14", text: "no room for more records"},
		"an output is stuck": {body: framed(0, message), fails: context.DeadlineExceeded, code: "14", text: "not stored"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			recorder := logtest.Recorder{}
			if test.fails != nil {
				recorder.OnFlush = func(context.Context) error { return test.fails }
			}
			address, client := serveHTTP2(t, handlerTo(&recorder))
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+GRPCPath, bytes.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/grpc")
			if test.kind != "" {
				r.Header.Set("Content-Type", test.kind)
			}
			r.Header.Set("Grpc-Encoding", test.encoding)
			r.Header.Set("Te", "trailers")
			w, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Body.Close() }()
			answer, err := io.ReadAll(w.Body)
			if err != nil || w.StatusCode != 200 || w.Header.Get("Content-Type") != "application/grpc" {
				t.Fatalf("%v: %d %v", err, w.StatusCode, w.Header)
			}
			text := strings.ReplaceAll(w.Trailer.Get("Grpc-Message"), "%20", " ")
			if code := w.Trailer.Get("Grpc-Status"); code != test.code || !strings.Contains(text, test.text) {
				t.Errorf("code %s %q, want %s %q", code, text, test.code, test.text)
			}
			if want := framed(0, nil); test.code == "0" && !bytes.Equal(answer, want) || test.code != "0" && len(answer) > 0 {
				t.Errorf("the answer is %q", answer)
			}
			if synced, _, _ := recorder.Synced(); synced != test.records || len(recorder.Records()) != test.records {
				t.Errorf("%d records, %d on disk, want %d", len(recorder.Records()), synced, test.records)
			}
			if refused := len(recorder.Refused()) > 0; refused != (test.code != "0" && test.code != "14") {
				t.Errorf("refused %v", recorder.Refused())
			}
		})
	}
}

func TestCallNeedsHTTP2(t *testing.T) {
	var recorder logtest.Recorder
	if w := post(t, handlerTo(&recorder), "application/grpc", framed(0, nil)); w.Code != http.StatusUpgradeRequired {
		t.Errorf("got %d", w.Code)
	}
}

func FuzzCall(f *testing.F) {
	message, err := proto.Marshal(ofAllKinds())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(framed(0, message), "")
	f.Add(framed(1, message), "gzip")
	f.Fuzz(func(t *testing.T, body []byte, encoding string) {
		var recorder logtest.Recorder
		r := httptest.NewRequest(http.MethodPost, GRPCPath, bytes.NewReader(body))
		r.ProtoMajor, r.ProtoMinor = 2, 0
		r.Header.Set("Content-Type", "application/grpc")
		r.Header.Set("Grpc-Encoding", encoding)
		w := httptest.NewRecorder()
		handlerTo(&recorder).ServeHTTP(w, r)
		status := w.Header().Get(http.TrailerPrefix + "Grpc-Status")
		if status == "" {
			status = w.Result().Trailer.Get("Grpc-Status")
		}
		switch status {
		case "0", "3", "8", "12":
		default:
			t.Errorf("%d %v", w.Code, w.Header())
		}
	})
}
