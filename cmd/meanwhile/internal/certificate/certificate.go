// Package certificate reads the certificate of a server, and reads it again when it changes. It also reads the certificates of a client.
package certificate

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

const certificateCheckInterval = 10 * time.Second

// A Certificate is a certificate and its key in two files, which are read again when they change. While they cannot be read, or
// do not belong together, the previous ones stay in use.
type Certificate struct {
	cert, key string
	logger    *slog.Logger

	mu      sync.Mutex
	pair    *tls.Certificate
	stamps  [2]stamp
	checked time.Time
}

// A stamp identifies a version of a file.
type stamp struct {
	changed time.Time
	size    int64
}

// New reads a certificate and its key in PEM format.
func New(cert, key string, logger *slog.Logger) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key, logger: logger}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c, nil
}

// read reads the files.
func (c *Certificate) read() error {
	stamps, err := c.stamp()
	if err != nil {
		return fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("--tls-cert and --tls-key: %s and %s: %w", c.cert, c.key, err)
	}
	c.pair, c.stamps, c.checked = &pair, stamps, time.Now()
	return nil
}

func (c *Certificate) stamp() (stamps [2]stamp, err error) {
	for i, name := range []string{c.cert, c.key} {
		info, err := os.Stat(name)
		if err != nil {
			return stamps, err
		}
		stamps[i] = stamp{info.ModTime(), info.Size()}
	}
	return stamps, nil
}

// Get is the GetCertificate function of a tls.Config.
func (c *Certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= certificateCheckInterval {
		c.checked = now
		if stamps, err := c.stamp(); err != nil || stamps != c.stamps {
			c.again()
		}
	}
	return c.pair, nil
}

// Reread reads the files immediately.
func (c *Certificate) Reread() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again()
}

func (c *Certificate) again() {
	if err := c.read(); err != nil {
		c.logger.Warn("the certificate cannot be reloaded; the previous one stays in use", "error", err)
		return
	}
	c.logger.Info("the certificate was reloaded")
}
