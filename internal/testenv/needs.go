package testenv

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/goroutine"
)

// A Need is something that tests need and that not every machine has.
type Need struct {
	Name string // and where tests look for it
	find func() error
}

// Find returns nil if the machine has it, and otherwise why not.
func (n Need) Find() error { return n.find() }

// Missing skips the rest of a test that needs it, or fails the test in CI. err is the result of Find.
func (n Need) Missing(t testing.TB, err error) {
	t.Helper()
	Missing(t, "no %s: %v", n.Name, err)
}

// What tests need beside programs.
var (
	PostgreSQL   = Need{"PostgreSQL (127.0.0.1:5432, user postgres, no password)", findPostgreSQL}
	NATS         = Need{"NATS with JetStream (" + NATSAddress + ")", findNATS}
	InitDB       = Need{"initdb in /usr/lib/postgresql", func() error { _, err := InitDBPath(); return err }}
	FakeTime     = Need{"libfaketime in /usr/lib", func() error { _, err := FakeTimePath(); return err }}
	Locales      = Need{"sources of locales (Debian: apt-get install locales)", func() error { _, err := os.Stat(localeSource); return err }}
	C            = Need{"C compiler", findC}
	VictoriaLogs = Need{"victoria-logs (MEANWHILE_VICTORIALOGS)", findVictoriaLogs}
)

// packages are the programs that tests run, with the Debian package of each.
var packages = map[string]string{
	"curl": "curl", "logger": "bsdutils", "node": "nodejs", "pgbouncer": "pgbouncer", "python3": "python3", "redis-cli": "redis-tools",
	"redis-server": "redis-server", "rsyslogd": "rsyslog", "ruby": "ruby", "sh": "dash", "systemd-analyze": "systemd",
}

// PostgresURL returns the URL of the server that tests use, which MEANWHILE_POSTGRES may name.
func PostgresURL() string {
	if url := os.Getenv("MEANWHILE_POSTGRES"); url != "" {
		return url
	}
	return "postgres://postgres@127.0.0.1:5432/postgres"
}

// PostgresDatabase returns the URL of a database on that server.
func PostgresDatabase(name string) string {
	u, err := url.Parse(PostgresURL())
	if err != nil {
		return PostgresURL() + " dbname=" + name // keywords and values instead of a URL
	}
	u.Path = "/" + name
	return u.String()
}

// NATSAddress is the address of the server that tests use.
const NATSAddress = "127.0.0.1:4222"

// localeSource is a source of the locale en_US, from which the program localedef makes it.
const localeSource = "/usr/share/i18n/locales/en_US"

// InitDBPath returns the path of the initdb of the newest PostgreSQL that Debian has installed.
func InitDBPath() (string, error) { return newest("/usr/lib/postgresql/*/bin/initdb") }

// FakeTimePath returns the path of the library that gives a program another clock.
func FakeTimePath() (string, error) { return newest("/usr/lib/*/faketime/libfaketime.so.1") }

func newest(pattern string) (string, error) {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("%s: %w", pattern, os.ErrNotExist)
	}
	return found[len(found)-1], nil
}

// answerTime is how long a server of this machine may take to answer.
const answerTime = 5 * time.Second

// findPostgreSQL starts a session (https://www.postgresql.org/docs/current/protocol-flow.html), so that a server which rejects the user counts as
// missing. It does not try a password: a server whose URL has one counts as present if it answers.
func findPostgreSQL() error {
	where, err := url.Parse(PostgresURL())
	if err != nil || where.Host == "" {
		return nil // only a client can parse this form; the tests will find out
	}
	port := where.Port()
	if port == "" {
		port = "5432"
	}
	conn, err := dial(net.JoinHostPort(where.Hostname(), port))
	if err != nil {
		return err
	}
	defer conn.Close()
	const version = 3 << 16
	parameters := "user\x00" + where.User.Username() + "\x00database\x00" + strings.TrimPrefix(where.Path, "/") + "\x00\x00"
	begin := binary.BigEndian.AppendUint32(nil, uint32(8+len(parameters)))
	begin = append(binary.BigEndian.AppendUint32(begin, version), parameters...)
	if _, err := conn.Write(begin); err != nil {
		return err
	}
	var answer [9]byte // a letter, the length, and how to authenticate
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return err
	}
	_, hasPassword := where.User.Password()
	switch method := binary.BigEndian.Uint32(answer[5:]); {
	case answer[0] != 'R':
		return errors.New("it refuses the user")
	case method != 0 && !hasPassword:
		return errors.New("it wants a password")
	}
	return nil
}

// findNATS reads the first line that a server sends.
func findNATS() error {
	conn, err := dial(NATSAddress)
	if err != nil {
		return err
	}
	defer conn.Close()
	info, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.Contains(info, `"jetstream":true`) {
		err = errors.New("it has no JetStream")
	}
	return err
}

func dial(address string) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", address, answerTime)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(answerTime))
	}
	return conn, err
}

func findC() error {
	out, err := exec.Command("go", "env", "CGO_ENABLED").Output()
	if err == nil && strings.TrimSpace(string(out)) != "1" {
		err = errors.New("cgo is off: it needs CGO_ENABLED=1 and a C compiler")
	}
	return err
}

func findVictoriaLogs() error {
	if os.Getenv("MEANWHILE_VICTORIALOGS") == "" {
		return errors.New("MEANWHILE_VICTORIALOGS is not set")
	}
	return nil
}

// Program returns the path of a program, which is in PATH or in /usr/sbin. Without the program it skips the test, or fails it in CI: see [Missing].
func Program(t testing.TB, name string) string {
	t.Helper()
	if _, listed := packages[name]; !listed {
		t.Fatalf("needs.go does not list the program %s, so that nobody learns what is skipped without it", name)
	}
	path, err := findProgram(name)
	if err != nil {
		Missing(t, "no program %s (Debian: apt-get install %s)", name, packages[name])
	}
	return path
}

func findProgram(name string) (path string, err error) {
	if path, err = exec.LookPath(name); err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	return path, err
}

// Pprof builds the program that go tool pprof runs, and returns its path. go tool pprof itself accepts no compiler flags: in a test run that has
// some, it would compile most of the standard library once more.
func Pprof(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "pprof.exe")
	if out, err := exec.Command("go", "build", "-o", path, "cmd/pprof").CombinedOutput(); err != nil {
		t.Fatalf("go build cmd/pprof: %v\n%s", err, out)
	}
	return path
}

// NeedExact skips the rest of a test that needs to know which goroutine runs which task, where that is not known exactly.
func NeedExact(t testing.TB) {
	t.Helper()
	if !goroutine.Exact {
		t.Skip("goroutines are known by the names of their tasks alone: it is a build with the tag meanwhile_nolinkname, or by another version of Go")
	}
}
