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

// TestTLS connects by TLS to a server, a cluster, and a server that a Sentinel names: first without trusting their certificate, and then with that.
func TestTLS(t *testing.T) {
	if urls := os.Getenv(tlsURLs); urls != "" { // this is the process that trusts the certificate
		for url := range strings.FieldsSeq(urls) {
			insert(t, open(t, url), newJob(t, "k"))
		}
		return
	}
	folder := t.TempDir()
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	makeCertificate(t, cert, key)
	options := []string{"--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no"}
	port := freePort(t)
	ownServer(t, append(options, "--tls-port", port)...)
	nodePort := freePort(t)
	node := ownServer(t, append(options, "--tls-port", nodePort, "--cluster-enabled", "yes", "--cluster-port", freePort(t), "--tls-cluster", "yes")...)
	node.do(t, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	eventually(t, func() bool { return strings.Contains(node.do(t, "CLUSTER", "INFO"), "cluster_state:ok") })
	sentinelPort := freePort(t)
	startSentinel(t, "sentinel monitor main 127.0.0.1 "+port+" 1", "tls-replication yes", "tls-port "+sentinelPort, "tls-cert-file "+cert, "tls-key-file "+key,
		"tls-ca-cert-file "+cert, "tls-auth-clients no")
	urls := []string{
		"rediss://127.0.0.1:" + port, "rediss://:" + port, "RedisS://127.0.0.1:" + port, "rediss+cluster://127.0.0.1:" + nodePort,
		"rediss+sentinel://127.0.0.1:" + sentinelPort + "?master=main",
	}
	for _, url := range urls {
		store, err := redis.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("ping of %s, which is not trusted: %v", url, err)
		}
		store.Close()
	}
	// A process reads the certificates of the system once, so another process is needed.
	self := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTLS$")
	self.Env = append(os.Environ(), tlsURLs+"="+strings.Join(urls, " "), "SSL_CERT_FILE="+cert)
	if out, err := self.CombinedOutput(); err != nil {
		t.Errorf("a process that trusts the server: %v\n%s", err, out)
	}
}

const tlsURLs = "MEANWHILE_TEST_REDIS_TLS"

func freePort(t *testing.T) string {
	t.Helper()
	port, err := harm.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(port)
}

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
