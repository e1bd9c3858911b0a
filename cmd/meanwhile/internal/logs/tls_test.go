package logs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
)

// An authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := authority{key: key, cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// sign returns a certificate for this machine, for use by a server and by a client.
func (a authority) sign(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// write writes PEM files, and returns their paths.
func write(t *testing.T, dir, name string, c tls.Certificate) (cert, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: c.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// freeAddress returns an address that nothing listens on, a different one each time.
func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := harm.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// TestClientCertificates: a server accepts clients whose certificates the authority has signed, and no others.
func TestClientCertificates(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	dir := t.TempDir()
	cert, key := write(t, dir, "server", ours.sign(t))
	ca, _ := write(t, dir, "ca", tls.Certificate{Certificate: [][]byte{ours.cert.Raw}, PrivateKey: ours.key})
	own, web := freeAddress(t), freeAddress(t)
	config := filepath.Join(dir, "logs.yaml")
	text := fmt.Sprintf("listen: %s\nhttp: %s\nanalogger: ''\ntls-cert: %s\ntls-key: %s\nclient-ca: %s\n", own, web, cert, key, ca)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	part, err := NewPart(filepath.Join(dir, "kept"), config, slog.New(slog.NewTextHandler(&said, nil)), probe.Streams{Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	errOver := errors.New("over")
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		if _, err := part.Open(ctx, nil); err != nil {
			return err
		}
		meanwhile.Go(ctx, part.Run)
		var clients sync.WaitGroup // concurrent, since refused clients wait for a second
		for name, test := range map[string]struct {
			to  string
			tls *tls.Config
			in  bool
		}{
			"signed":           {"tls://", &tls.Config{RootCAs: ours.pool(), Certificates: []tls.Certificate{ours.sign(t)}}, true},
			"none":             {"tls://", &tls.Config{RootCAs: ours.pool()}, false},
			"of another":       {"tls://", &tls.Config{RootCAs: ours.pool(), Certificates: []tls.Certificate{theirs.sign(t)}}, false},
			"server not known": {"tls://", &tls.Config{RootCAs: theirs.pool(), Certificates: []tls.Certificate{ours.sign(t)}}, false},
			"no TLS":           {"tcp://", &tls.Config{}, false},
		} {
			clients.Go(func() {
				if in := getsIn(ctx, t, test.to+own, test.tls, test.in); in != test.in {
					t.Errorf("%s: a record got in: %t, want %t", name, in, test.in)
				}
				client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{TLSClientConfig: test.tls, DisableKeepAlives: true}}
				scheme := "https://"
				if test.to == "tcp://" {
					scheme = "http://"
				}
				response, err := client.Get(scheme + web + "/logs/services")
				if err == nil {
					_ = response.Body.Close()
				}
				if in := err == nil && response.StatusCode == http.StatusOK; in != test.in {
					t.Errorf("%s: the services are told: %t, %v, want %t", name, in, err, test.in)
				}
			})
		}
		clients.Wait()
		signed, signedKey := write(t, dir, "client", ours.sign(t))
		for _, test := range []struct {
			cert, key string
			in        bool
		}{{signed, signedKey, true}, {"", "", false}} {
			source := Source{Server: "https://" + web, CA: ca, TLSCert: test.cert, TLSKey: test.key, Timeout: 20 * time.Second}
			client, err := source.Client(nil)
			if err != nil {
				return err
			}
			services, err := client.Services(ctx)
			if in := err == nil && len(services) == 1; in != test.in {
				t.Errorf("logs services with certificate %q: %v, %v, want them: %t", test.cert, services, err, test.in)
			}
			_ = client.Close()
		}
		return errOver
	})
	if !errors.Is(err, errOver) {
		t.Error(err, said.String())
	}
	if err := part.Close(); err != nil {
		t.Error(err)
	}
}

// getsIn reports whether a server acknowledges a record within a moment, or, with long, within a longer time.
func getsIn(ctx context.Context, t *testing.T, to string, c *tls.Config, long bool) bool {
	t.Helper()
	s, err := logs.NewSender(to, &logs.SenderOptions{Service: "api", TLS: c, Spool: logs.SpoolOff, OnError: func(error) {}})
	if err != nil {
		t.Error(err)
		return false
	}
	if err := s.Add(&logs.View{Message: []byte("hello")}); err != nil {
		t.Error(err)
		return false
	}
	patience := time.Second
	if long {
		patience = time.Minute
	}
	flushing, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = s.Flush(flushing)
	ending, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_ = s.Close(ending)
	return err == nil
}
