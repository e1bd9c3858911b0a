package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

// Client is the TLS configuration of a client by the names of files, in PEM; nil if all of them are empty. Without ca the client trusts
// the authorities of the system. Errors name the flags, which flag returns for their usual names.
func Client(ca, cert, key string, flag func(name string) string) (*tls.Config, error) {
	if ca == "" && cert == "" && key == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag("ca"), err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: %s has no certificate in PEM", flag("ca"), probe.Printable(ca))
		}
	}
	if cert == "" && key == "" {
		return c, nil
	}
	if cert == "" || key == "" {
		return nil, fmt.Errorf("%s and %s: give both or none", flag("tls-cert"), flag("tls-key"))
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", flag("tls-cert"), flag("tls-key"), err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}
