//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// TestLivePages: a live page of serve is counted as a request in progress, ends when its reader signs out, and does not prevent the server from
// stopping.
func TestLivePages(t *testing.T) {
	t.Parallel()
	hash, err := bcrypt.GenerateFromPassword([]byte("open sesame"), 10)
	if err != nil {
		t.Fatal(err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", port)
	var said bytes.Buffer
	server := exec.Command(os.Args[0], "serve", "--listen", address, "--store", "sqlite:"+filepath.Join(t.TempDir(), "jobs.db"), "--user", "ada:admin:"+string(hash))
	server.Env = append(os.Environ(), "MEANWHILE_TEST_MAIN=1")
	server.Stderr = &said
	server.WaitDelay = time.Minute
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() {
		_ = server.Process.Kill()
		if t.Failed() {
			t.Logf("%s", &said)
		}
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Timeout: time.Minute}
	page := &url.URL{Scheme: "http", Host: address, Path: "/queues"}
	testenv.Await(t, func() bool {
		answer, err := client.PostForm("http://"+address+"/sign-in", url.Values{"name": {"ada"}, "password": {"open sesame"}})
		if err == nil {
			_ = answer.Body.Close()
		}
		return err == nil && len(jar.Cookies(page)) == 1
	})
	look := func() (net.Conn, *bufio.Reader) {
		t.Helper()
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		cookie := jar.Cookies(page)[0]
		_, _ = fmt.Fprintf(conn, "GET /queues HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nCookie: %s=%s\r\n\r\n", address, cookie.Name, cookie.Value)
		return conn, bufio.NewReader(conn)
	}
	readPage := func(events *bufio.Reader) (head string) {
		t.Helper()
		for {
			line, err := events.ReadString('\n')
			switch {
			case err != nil:
				t.Fatalf("%v after %s", err, head)
			case strings.HasPrefix(line, "data: {"):
				return head
			}
			head += line
		}
	}
	_, first := look()
	if head := readPage(first); !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") || !strings.Contains(head, "\r\nConnection: close\r\n") ||
		!strings.Contains(head, "Content-Security-Policy") {
		t.Errorf("the response starts with %s", head)
	}
	answer, err := client.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if !strings.Contains(string(text), "\nmeanwhile_http_in_flight 2\n") {
		t.Errorf("the requests in progress are not the live page and this request:\n%s", text)
	}
	_, second := look()
	readPage(second)
	if answer, err = client.Post("http://"+address+"/sign-out", "", nil); err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	for _, events := range []*bufio.Reader{first, second} {
		begun := time.Now()
		if _, err := io.Copy(io.Discard, events); err != nil || time.Since(begun) > 10*time.Second {
			t.Errorf("%v after the sign-out the live page ended with %v", time.Since(begun), err)
		}
	}
	if answer, err = client.PostForm("http://"+address+"/sign-in", url.Values{"name": {"ada"}, "password": {"open sesame"}}); err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	_, third := look()
	readPage(third)
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the server ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the server does not stop while a page is live")
	}
	if _, err := io.Copy(io.Discard, third); err != nil {
		t.Errorf("the live page ended with %v", err)
	}
}
