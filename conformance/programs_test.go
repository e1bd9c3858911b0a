//go:build unix

package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	buildLimit = 10 * time.Minute
	patience   = 30 * time.Second
)

// programs is the folder of the built programs.
var programs string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if programs, err = os.MkdirTemp("", "conformance"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(programs)
		return m.Run()
	}())
}

// Builds of the programs, each with the modules of its own folder, and once for all tests.
var (
	buildMeanwhile = sync.OnceValues(func() (string, error) { return build("..", "./cmd/meanwhile") })
	buildClient    = sync.OnceValues(func() (string, error) { return build(".", "./goclient") })
	buildBare      = sync.OnceValues(func() (string, error) { return build(".", "./bare") })
	buildLedger    = sync.OnceValues(func() (string, error) { return build(".", "./ledger") })
	// Without cgo it uses HOME as the home directory of an unknown user.
	buildOriginal = sync.OnceValues(func() (string, error) {
		return build(".", "github.com/contribsys/faktory/cmd/faktory", "CGO_ENABLED=0")
	})
)

func build(module, program string, env ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	path := filepath.Join(programs, filepath.Base(program))
	cmd := exec.CommandContext(ctx, "go", "build", "-C", module, "-buildvcs=false", "-o", path, program)
	cmd.Env = append(os.Environ(), env...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", program, err, said)
	}
	return path, nil
}

// missing skips a test that lacks a program, or fails it in CI.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("MEANWHILE_CI") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// unknownUser is a user ID that does not exist on the system.
const unknownUser = 54321

const password = "correct horse battery"

// ours starts our server, and returns its address.
func ours(t testing.TB) string {
	t.Helper()
	program, err := buildMeanwhile()
	if err != nil {
		t.Fatal(err)
	}
	address, store := free(t), os.Getenv("MEANWHILE_BENCH_STORE")
	if _, measured := t.(*testing.B); !measured || store == "" {
		store = "sqlite:" + filepath.Join(t.TempDir(), "jobs.db")
	}
	start(t, address, append(os.Environ(), "MEANWHILE_FAKTORY_PASSWORD="+password),
		program, "serve", "--listen", "127.0.0.1:0", "--concurrency", "0", "--faktory", address, "--faktory-flush", "--migrate", "--store", store)
	return address
}

// bare starts a server that does nothing but return pushed jobs, and returns its address.
func bare(t testing.TB) string {
	t.Helper()
	program, err := buildBare()
	if err != nil {
		t.Fatal(err)
	}
	address := free(t)
	start(t, address, os.Environ(), program, address)
	return address
}

// original starts the original with its own Redis, and returns its address.
func original(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		missing(t, "no redis-server, which the original needs: %v", err)
	}
	program, err := buildOriginal()
	if err != nil {
		missing(t, "the original cannot be built: %v", err)
	}
	if os.Getuid() != 0 {
		missing(t, "the original keeps its jobs in the home of its user: as root, it is run as a user who has none but HOME")
	}
	home, err := os.MkdirTemp("/tmp", "fk") // a short path, since that of a socket is limited
	if err == nil {
		err = errors.Join(os.Chown(home, unknownUser, unknownUser), os.Chmod(programs, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	address := free(t)
	env := append(os.Environ(), "HOME="+home, "USER=faktory", "FAKTORY_PASSWORD="+password)
	startAs(t, &syscall.Credential{Uid: unknownUser, Gid: unknownUser}, address, env, program, "-b", address, "-w", free(t), "-e", "development")
	return address
}

// The system assigns ports above these when a program asks for any free port.
const firstPort, ports = 20_000, 10_000

var nextPort = rand.N(ports)

// free returns an address that nothing listens on. A server may listen there later, and again after it was killed: the system does not assign the
// port to another program in between.
func free(t testing.TB) string {
	t.Helper()
	for range ports {
		nextPort++
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+nextPort%ports))
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal("there is no free port")
	return ""
}

// start runs a server until the test ends, and returns as soon as it listens.
func start(t testing.TB, address string, env []string, program string, args ...string) {
	t.Helper()
	startAs(t, nil, address, env, program, args...)
}

// startAs does the same as start as another user; nil is the current user.
func startAs(t testing.TB, user *syscall.Credential, address string, env []string, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	var said bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			t.Errorf("%s does not stop", filepath.Base(program))
			<-ended
		}
		if t.Failed() {
			t.Logf("the output of %s:\n%s", filepath.Base(program), strings.ReplaceAll(said.String(), password, "…"))
		}
	})
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if socket, err := net.Dial("tcp", address); err == nil {
			_ = socket.Close()
			return
		}
	}
	t.Fatalf("%s does not listen on %s", filepath.Base(program), address)
}
