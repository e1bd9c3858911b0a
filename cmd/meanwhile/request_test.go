package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
)

// freePort returns a port that nothing listens on, a different one each time.
func freePort() (string, error) {
	port, err := harm.FreePort()
	return strconv.Itoa(port), err
}

// writeCertificate writes a certificate and its key to a folder.
func writeCertificate(folder string, pair tls.Certificate) error {
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return err
	}
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "key.pem": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// request is a script command: "request METHOD URL [BODY] [NAME: VALUE]..." sends a request and prints the response. It waits until
// the server listens. A header "Cookie-Jar" names a file: its cookies are sent, and cookies of the response are saved in it.
func request(ts *testscript.TestScript, neg bool, args []string) {
	err := sendRequest(ts.Stdout(), args, ts.MkAbs)
	if (err != nil) != neg {
		ts.Fatalf("the request returned %v", err)
	}
}

// sendRequestMain is the same as a program, for shell scripts: "send-request METHOD URL...".
func sendRequestMain() {
	if err := sendRequest(os.Stdout, os.Args[1:], filepath.Clean); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func sendRequest(out io.Writer, args []string, path func(name string) string) error {
	body := ""
	if len(args) > 2 {
		body = args[2]
	}
	r, err := http.NewRequest(args[0], args[1], strings.NewReader(body))
	if err != nil {
		return err
	}
	for _, line := range args[min(3, len(args)):] {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	jar := path(r.Header.Get("Cookie-Jar"))
	if cookie, err := os.ReadFile(jar); err == nil {
		r.Header.Set("Cookie", string(cookie))
	}
	transport := &http.Transport{DialContext: dialWhenUp, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{
		Timeout:       time.Minute,
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	for _, c := range answer.Cookies() {
		if err := os.WriteFile(jar, []byte(c.Name+"="+c.Value), 0o600); err != nil {
			return err
		}
	}
	text, err := io.ReadAll(answer.Body)
	var head strings.Builder
	_ = answer.Header.Write(&head)
	fmt.Fprintf(out, "%s %s\n%s\n%s\n", answer.Proto, answer.Status, strings.ReplaceAll(head.String(), "\r\n", "\n"), bytes.TrimSpace(text))
	return err
}

// dialWhenUp dials until the server listens.
func dialWhenUp(ctx context.Context, network, address string) (net.Conn, error) {
	for {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if !errors.Is(err, syscall.ECONNREFUSED) || ctx.Err() != nil {
			return c, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
