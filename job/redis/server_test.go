package redis_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job/redis"
)

// A server is a redis-server of the tests, which can kill it.
type server struct {
	program string
	port    int
	folder  string
	args    []string
	command *exec.Cmd
	env     []string // besides that of the tests
	// sentinel is the path of the configuration file, if the server is a Sentinel.
	sentinel string
}

// The server that tests share; each test uses a store with its own name.
var (
	sharedMu sync.Mutex
	shared   *server
)

// sharedServer returns the address of a server that runs until the tests end.
func sharedServer(t testing.TB) string {
	t.Helper()
	sharedMu.Lock()
	defer sharedMu.Unlock()
	if shared == nil {
		s := newServer(t)
		s.start(t)
		shared = s
	}
	return shared.address()
}

// ownServer starts a server for the duration of a test.
func ownServer(t testing.TB, args ...string) *server {
	t.Helper()
	s := newServer(t, args...)
	s.start(t)
	t.Cleanup(func() {
		s.kill(t)
		if err := os.RemoveAll(s.folder); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newServer(t testing.TB, args ...string) *server {
	t.Helper()
	s := &server{program: testenv.Program(t, "redis-server"), args: args}
	if folder, err := locale(t); err == nil {
		s.env = []string{"LOCPATH=" + folder, "LC_ALL=" + localeName}
	}
	var err error
	if s.folder, err = os.MkdirTemp("", "meanwhile-redis-"); err != nil {
		t.Fatal(err)
	}
	guardFolder(t, s.folder)
	if s.port, err = harm.FreePort(); err != nil {
		t.Fatal(err)
	}
	return s
}

// localeName is the locale of the servers. It sorts texts in another order than that of their bytes, as it does on a machine that is set up for English.
const localeName = "en_US.ISO-8859-1"

var (
	localeMu  sync.Mutex
	localeDir string
)

// locale returns the folder of the locale of the servers, which it makes when it is first called. Without the sources of locales it returns an error,
// and the servers have that of the machine.
func locale(t testing.TB) (folder string, err error) {
	t.Helper()
	localeMu.Lock()
	defer localeMu.Unlock()
	if err := testenv.Locales.Find(); err != nil || localeDir != "" {
		return localeDir, err
	}
	if folder, err = os.MkdirTemp("", "meanwhile-locale-"); err != nil {
		t.Fatal(err)
	}
	guardFolder(t, folder)
	if out, err := exec.Command("localedef", "-i", "en_US", "-f", "ISO-8859-1", filepath.Join(folder, localeName)).CombinedOutput(); err != nil {
		t.Fatalf("localedef: %v\n%s", err, out)
	}
	localeDir = folder
	return folder, nil
}

func (s *server) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// start starts the server, with the data it had, and waits until it answers.
func (s *server) start(t testing.TB) {
	t.Helper()
	s.command = exec.Command(s.program, append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.folder, "--save", "", "--appendonly", "yes", "--appendfsync", "always",
		"--unixsocket", s.folder + "/socket",
	}, s.args...)...)
	if s.sentinel != "" {
		s.command = exec.Command(s.program, s.sentinel, "--sentinel")
	}
	s.command.Env = append(os.Environ(), s.env...)
	var out strings.Builder
	s.command.Stdout, s.command.Stderr = &out, &out
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	guardProcess(t, s.command.Process)
	for begun := time.Now(); ; {
		answer, err := s.ask("PING")
		if err == nil && (strings.HasPrefix(answer, "+PONG") || strings.HasPrefix(answer, "-NOAUTH")) {
			return
		}
		if time.Since(begun) > time.Minute {
			s.kill(t)
			t.Fatalf("redis-server does not answer: %v\n%s", err, &out)
		}
		if err := meanwhile.Sleep(t.Context(), 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// kill kills the server.
func (s *server) kill(t testing.TB) {
	t.Helper()
	if s.command == nil {
		return
	}
	_ = s.command.Process.Kill() // it may have ended
	_ = s.command.Wait()
	unguardProcess(t, s.command.Process)
	s.command = nil
}

// ask sends a command on a connection of its own, and returns the first part of the answer.
func (s *server) ask(words ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", s.address(), time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return "", err
	}
	var command strings.Builder
	fmt.Fprintf(&command, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&command, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := conn.Write([]byte(command.String())); err != nil {
		return "", err
	}
	answer := make([]byte, 4<<10)
	n, err := conn.Read(answer)
	return string(answer[:n]), err
}

// do is ask for a command that must succeed.
func (s *server) do(t testing.TB, words ...string) string {
	t.Helper()
	answer, err := s.ask(words...)
	if err != nil || strings.HasPrefix(answer, "-") {
		t.Fatalf("%v: %q, %v", words, answer, err)
	}
	return answer
}

// open opens the store of a URL for the duration of a test.
func open(t testing.TB, url string) *redis.Store {
	t.Helper()
	s, err := redis.Open(context.WithoutCancel(t.Context()), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}
