package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

// Client returns the TLS configuration of a client whose certificates are in PEM files; nil if all names are empty. Without ca the client trusts the
// system's certificate authorities. Errors have the names of flags: flag maps the usual names to those of the command.
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
