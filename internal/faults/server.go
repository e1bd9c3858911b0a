//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
)

// A server is a PostgreSQL server of the program's own.
type server struct {
	folder string // of its data
	bin    string
	port   int
	as     *syscall.Credential // nil for the user of the program
	up     atomic.Bool
}

// startServer makes a database cluster in a folder below dir and starts it. As root it runs as the user postgres, since
// PostgreSQL refuses to run as root.
func startServer(ctx context.Context, dir string, g *harm.Guard) (*server, error) {
	s := &server{folder: filepath.Join(dir, "cluster")}
	var err error
	if s.bin, err = findServer(); err != nil {
		return nil, err
	}
	if s.port, err = harm.FreePort(); err != nil {
		return nil, err
	}
	if err := s.makeFolder(); err != nil {
		return nil, err
	}
	if err := g.Report(harm.HasServer, s.folder); err != nil {
		return nil, err
	}
	if err := s.tool(ctx, "initdb", "-D", s.folder, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
		return nil, err
	}
	s.up.Store(true)
	return s, s.start(ctx)
}

// findServer returns the folder of the PostgreSQL programs: those in PATH, or the newest that Debian has installed.
func findServer() (string, error) {
	if initdb, err := exec.LookPath("initdb"); err == nil {
		initdb, err = filepath.EvalSymlinks(initdb) // the other programs are in the same folder
		return filepath.Dir(initdb), err
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("the PostgreSQL server is not installed: initdb is neither in PATH nor in /usr/lib/postgresql")
	}
	version := func(path string) int {
		v, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return v
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

// makeFolder creates the data folder, owned by the user that the server runs as.
func (s *server) makeFolder() error {
	if err := os.Mkdir(s.folder, 0o700); err != nil {
		return err
	}
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return err
	}
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.folder, uid, gid)
}

func (s *server) start(ctx context.Context) error {
	options := fmt.Sprintf("-c port=%d -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200 "+
		"-c restart_after_crash=on -c logging_collector=off", s.port)
	return s.tool(ctx, "pg_ctl", "start", "-D", s.folder, "-w", "-t", "60", "-s", "-l", filepath.Join(s.folder, "log"), "-o", options)
}

// stop stops the server. Mode fast closes its connections and shuts it down in order; after mode immediate it must recover when it starts again.
func (s *server) stop(ctx context.Context, mode string) error {
	return s.tool(ctx, "pg_ctl", "stop", "-D", s.folder, "-w", "-t", "60", "-s", "-m", mode)
}

func (s *server) createDatabase(ctx context.Context, name string) error {
	return s.tool(ctx, "createdb", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "postgres", name)
}

func (s *server) tool(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir = s.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true}
	output, err := os.CreateTemp("", "faults-tool-*") // not a pipe, which the server would inherit and keep open
	if err != nil {
		return err
	}
	defer os.Remove(output.Name())
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(output.Name())
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(text)))
	}
	return nil
}

func databaseURL(port int, name string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", port, name)
}
