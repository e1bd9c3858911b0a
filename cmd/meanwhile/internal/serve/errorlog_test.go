package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/certificate"
)

// TestFailedHandshakesDoNotFillTheLog opens thirty connections that do not speak TLS; a panic after them is logged all the same.
func TestFailedHandshakesDoNotFillTheLog(t *testing.T) {
	web := httptest.NewTLSServer(nil)
	web.Close()
	folder := t.TempDir()
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	bits, err := x509.MarshalPKCS8PrivateKey(web.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: web.TLS.Certificates[0].Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: bits}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	p := &plan{logger: slog.New(slog.NewTextHandler(&log, nil))}
	if p.certificate, err = certificate.New(cert, key, p.logger); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	server := make(chan error, 1)
	go func() {
		server <- meanwhile.Run(ctx, func(ctx context.Context) error {
			return p.listen(ctx, listener, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a mistake") }), func() {})
		})
	}()
	for range 30 {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "no TLS\r\n")
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	if answer, err := client.Get("https://" + listener.Addr().String()); err == nil {
		_ = answer.Body.Close()
		t.Errorf("a handler that panics answers %s", answer.Status)
	}
	stop(stopped)
	if err := <-server; err != nil && !errors.Is(err, stopped) {
		t.Errorf("the server ended with %v", err)
	}
	if n := strings.Count(log.String(), "TLS handshake error"); n != 10 || strings.Count(log.String(), "panic serving") != 1 {
		t.Errorf("the log has %d failed handshakes, want 10 and the panic:\n%s", n, &log)
	}
}
