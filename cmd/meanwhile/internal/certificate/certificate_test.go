package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// writeCertificate writes a certificate with a name, and its key, to a folder.
func writeCertificate(t *testing.T, folder, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	bits, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: bits}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestCertificateIsReadAgain(t *testing.T) {
	folder := t.TempDir()
	cert, key := writeCertificate(t, folder, "first")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c, err := New(cert, key, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		is := func(what, want string) {
			t.Helper()
			pair, err := c.Get(nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := pair.Leaf.Subject.CommonName; got != want {
				t.Errorf("%s: got the %s certificate, want the %s", what, got, want)
			}
		}
		is("at first", "first")
		writeCertificate(t, folder, "second one")
		is("at once", "first")
		time.Sleep(certificateCheckInterval)
		is("soon", "second one")
		if err := os.WriteFile(key, []byte("no key"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(certificateCheckInterval)
		is("with a key that is none", "second one")
		if !strings.Contains(log.String(), "cannot be reloaded") || strings.Contains(log.String(), "no key") {
			t.Errorf("the log is %s", &log)
		}
		writeCertificate(t, folder, "third of all")
		c.Reread()
		is("at HUP", "third of all")
	})
}
