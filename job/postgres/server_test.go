package postgres_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A folder belongs to the user postgres if the tests run as root, which servers refuse to be run by.
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
	f := &folder{t: t, path: path}
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			missing(t, "no user to run a server as: %v", err)
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

// command makes a command that runs in the folder as its owner.
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

// freePort returns a port that nobody listens on.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// An ownServer is a PostgreSQL for one test, which may stop it.
type ownServer struct {
	*folder
	bin, data string
	port      int
	env       []string // more of it
}

func newServer(t testing.TB, env ...string) *ownServer {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		missing(t, "no initdb in /usr/lib/postgresql")
	}
	s := &ownServer{folder: newFolder(t), bin: filepath.Dir(found[len(found)-1]), data: "data", port: freePort(t)}
	s.run(filepath.Join(s.bin, "initdb"), "-D", s.data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
	s.env = env
	s.start()
	s.stopAtEnd()
	return s
}

func (s *ownServer) stopAtEnd() {
	s.t.Cleanup(func() { _ = s.ctl("stop", "-m", "immediate").Run() }) // it may be stopped already
}

// newStandby makes a second server that follows this one, and is ready to take its place.
func (s *ownServer) newStandby() *ownServer {
	s.t.Helper()
	standby := &ownServer{folder: s.folder, bin: s.bin, data: "standby", port: freePort(s.t)}
	s.run(filepath.Join(s.bin, "pg_basebackup"), "-D", standby.data, "-R", "-X", "stream", "-c", "fast", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "postgres")
	standby.start()
	standby.stopAtEnd()
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
	// Not CombinedOutput: the server would keep the pipe open.
	if err := s.ctl("-l", s.data+".log", "-o", o, "start").Run(); err != nil {
		log, _ := os.ReadFile(filepath.Join(s.path, s.data+".log"))
		s.t.Fatalf("start the server: %v\n%s", err, log)
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

// newPooler starts a PgBouncer in transaction mode before a server, and returns the URL of a database through it.
func newPooler(t testing.TB, url string) string {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/pgbouncer") // where Debian has it
	}
	if err != nil {
		missing(t, "no pgbouncer: %v", err)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	f, port := newFolder(t), freePort(t)
	f.write("users", fmt.Sprintf("%q \"\"\n", config.User))
	f.write("pgbouncer.ini", fmt.Sprintf(`[databases]
* = host=%s port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = users
pool_mode = transaction
default_pool_size = 4
`, config.Host, config.Port, port))
	c := f.command(path, "pgbouncer.ini")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // killed
	})
	through := fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s", config.User, port, config.Database)
	eventually(t, "the pooler answers", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, through)
		if err == nil {
			err = conn.Close(ctx)
		}
		return err
	})
	return through
}

// eventually waits until something goes well.
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
