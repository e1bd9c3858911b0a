package redis_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/job/redis"
)

// TestTLS connects by TLS to a server whose certificate the system does not trust, and then to one that it trusts.
func TestTLS(t *testing.T) {
	if url := os.Getenv(tlsURL); url != "" { // this is the process that trusts the certificate
		insert(t, open(t, url), newJob(t, "k"))
		return
	}
	folder := t.TempDir()
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	makeCertificate(t, cert, key)
	port, err := harm.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	ownServer(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
	url := "rediss://127.0.0.1:" + strconv.Itoa(port)
	store, err := redis.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("ping of a server that is not trusted: %v", err)
	}
	// A process reads the certificates of the system once, so another process is needed.
	self := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTLS$")
	self.Env = append(os.Environ(), tlsURL+"="+url, "SSL_CERT_FILE="+cert)
	if out, err := self.CombinedOutput(); err != nil {
		t.Errorf("a process that trusts the server: %v\n%s", err, out)
	}
}

const tlsURL = "MEANWHILE_TEST_REDIS_TLS"

// makeCertificate makes a self-signed certificate for 127.0.0.1.
func makeCertificate(t *testing.T, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	privateDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: privateDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
