package testenv

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProgram(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	t.Setenv("MEANWHILE_CI", "")
	if got, want := ending(func(t testing.TB) { Program(t, "node") }), "skipped: no program node (Debian: apt-get install nodejs)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	want := filepath.Join(folder, "node")
	if err := os.WriteFile(want, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	var path string
	if got := ending(func(t testing.TB) { path = Program(t, "node") }); got != "" || path != want {
		t.Errorf("the test ended with %q and found %q", got, path)
	}
	if got := ending(func(t testing.TB) { Program(t, "go") }); !strings.HasPrefix(got, "failed: needs.go does not list") {
		t.Errorf("a program that is not listed: got %q", got)
	}
}

// startServer starts a server that answers one connection, and returns its address.
func startServer(t *testing.T, answer func(conn net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if conn, err := l.Accept(); err == nil {
			answer(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

func TestFindPostgreSQL(t *testing.T) {
	method := func(n uint32) string {
		return "R" + string(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, n))
	}
	const trust, scram = 0, 10
	for _, c := range []struct{ name, user, answer, want string }{
		{"it lets the user in", "postgres", method(trust), ""},
		{"it wants a password that nobody knows", "postgres", method(scram), "it wants a password"},
		{"it wants a password that the URL has", "postgres:sesame", method(scram), ""},
		{"it refuses", "postgres", "E\x00\x00\x00\x08no.\x00", "it refuses the user"},
		{"it is another server", "postgres", "?", "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var begun string
			address := startServer(t, func(conn net.Conn) {
				size := make([]byte, 4)
				if _, err := io.ReadFull(conn, size); err == nil {
					rest := make([]byte, binary.BigEndian.Uint32(size)-4)
					_, _ = io.ReadFull(conn, rest)
					begun = string(rest)
				}
				_, _ = conn.Write([]byte(c.answer))
			})
			t.Setenv("MEANWHILE_POSTGRES", "postgres://"+c.user+"@"+address+"/shop")
			got := ""
			if err := PostgreSQL.Find(); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if want := "\x00\x03\x00\x00user\x00postgres\x00database\x00shop\x00\x00"; begun != want {
				t.Errorf("the server received %q, want %q", begun, want)
			}
		})
	}
}

func TestNeedMissing(t *testing.T) {
	t.Setenv("MEANWHILE_CI", "")
	err := os.ErrNotExist
	if got, want := ending(func(t testing.TB) { NATS.Missing(t, err) }), "skipped: no NATS with JetStream (127.0.0.1:4222): file does not exist"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
