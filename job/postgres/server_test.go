package postgres_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// A folder is a temporary folder. It belongs to the user postgres if the tests run as root, since PostgreSQL refuses to run as
// root.
type folder struct {
	t    testing.TB
	path string
	as   *syscall.SysProcAttr
}

func newFolder(t testing.TB) *folder {
	t.Helper()
	path, err := os.MkdirTemp("", "meanwhile")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(path); err != nil {
			t.Error(err)
		}
	})
	guardFolder(t, path)
	f := &folder{t: t, path: path}
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			testenv.Missing(t, "no user to run a server as: %v", err)
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if uidErr != nil || gidErr != nil {
			t.Fatal(uidErr, gidErr)
		}
		f.as = runAs(uid, gid)
		if err := os.Chown(path, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// command returns a command that runs in the folder as the folder's owner.
func (f *folder) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = f.path
	c.SysProcAttr = f.as
	return c
}

func (f *folder) run(name string, args ...string) {
	f.t.Helper()
	if out, err := f.command(name, args...).CombinedOutput(); err != nil {
		f.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func (f *folder) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.path, name), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// freePort returns a port that no process listens on, a different one each time.
func freePort(t testing.TB) int {
	t.Helper()
	port, err := harm.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// An ownServer is a PostgreSQL server of one test, which may stop it.
type ownServer struct {
	*folder
	bin, data string
	port      int
	env       []string // additional environment variables
}

func newServer(t testing.TB, env ...string) *ownServer {
	t.Helper()
	initdb, err := testenv.InitDBPath()
	if err != nil {
		testenv.InitDB.Missing(t, err)
	}
	s := &ownServer{folder: newFolder(t), bin: filepath.Dir(initdb), data: "data", port: freePort(t)}
	s.run(initdb, "-D", s.data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
	s.env = env
	s.stopAtEnd()
	s.start()
	return s
}

// stopAtEnd stops the server at the end of the test, and logs the last lines of its log if the test has failed.
func (s *ownServer) stopAtEnd() {
	guardServer(s.t, filepath.Join(s.path, s.data))
	s.t.Cleanup(func() {
		_ = s.ctl("stop", "-m", "immediate").Run() // the server may have been stopped already
		if s.t.Failed() {
			s.t.Logf("the server of %s has written:\n%s", s.data, lastLines(s.logFile()))
		}
	})
}

func (s *ownServer) logFile() string { return filepath.Join(s.path, s.data+".log") }

// newStandby makes a second server that replicates this one, and can be promoted.
func (s *ownServer) newStandby() *ownServer {
	s.t.Helper()
	standby := &ownServer{folder: s.folder, bin: s.bin, data: "standby", port: freePort(s.t)}
	s.run(filepath.Join(s.bin, "pg_basebackup"), "-D", standby.data, "-R", "-X", "stream", "-c", "fast", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "postgres")
	standby.stopAtEnd()
	standby.start()
	return standby
}

func (s *ownServer) ctl(args ...string) *exec.Cmd {
	c := s.command(filepath.Join(s.bin, "pg_ctl"), append([]string{"-D", s.data, "-w", "-t", "30"}, args...)...)
	c.Env = append(os.Environ(), s.env...)
	return c
}

func (s *ownServer) start(options ...string) {
	s.t.Helper()
	o := fmt.Sprintf("-p %d -k '' -c listen_addresses=127.0.0.1 -c fsync=off", s.port)
	for _, option := range options {
		o += " -c " + option
	}
	// Do not use CombinedOutput: the server would keep the pipe open.
	if err := s.ctl("-l", s.data+".log", "-o", o, "start").Run(); err != nil {
		s.t.Fatalf("start the server: %v\n%s", err, lastLines(s.logFile()))
	}
}

func (s *ownServer) stop() {
	s.t.Helper()
	if err := s.ctl("stop", "-m", "fast").Run(); err != nil {
		s.t.Fatalf("stop the server: %v", err)
	}
}

func (s *ownServer) url() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres", s.port)
}

// eventually retries until try succeeds.
func eventually(t testing.TB, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
