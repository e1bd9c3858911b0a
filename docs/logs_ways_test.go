package docs_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// TestWaysIn starts the server as the guide to the ways in does, runs its commands, and looks for what they have sent.
func TestWaysIn(t *testing.T) {
	testenv.LongTest(t)
	for _, tool := range []string{"sh", "curl", "logger", "rsyslogd"} {
		testenv.Program(t, tool)
	}
	folder := t.TempDir()
	putCommand(t, folder)
	text, err := os.ReadFile("logs-ways.md")
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]string{}
	for _, port := range []string{"6514", "6766", "6767", "6768", "6769"} {
		ports[port] = unusedPort(t)
	}
	guide := regexp.MustCompile(`\b6(514|76[6-9])\b`).ReplaceAllStringFunc(string(text), func(port string) string { return ports[port] })
	command := func(ctx context.Context, line string) *exec.Cmd {
		c := exec.CommandContext(ctx, "sh", "-c", line)
		c.Dir = folder
		c.Env = append(os.Environ(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"), "MEANWHILE_SPOOL="+folder,
			"MEANWHILE_LOGS_TO=tcp://127.0.0.1:"+ports["6767"], "MEANWHILE_LOGS_SERVER=http://127.0.0.1:"+ports["6768"])
		return c
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var lines []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(guide, -1) {
		lines = append(lines, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	if len(lines) < 6 {
		t.Fatalf("the guide has %d commands", len(lines))
	}
	server := command(ctx, "exec "+lines[0]+" --listen 127.0.0.1:"+ports["6767"]+" --http 127.0.0.1:"+ports["6768"]+" --analogger 127.0.0.1:"+ports["6766"])
	var said strings.Builder
	server.Stderr = &said
	server.Cancel = func() error { return server.Process.Signal(os.Interrupt) }
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = server.Wait() }()
	for {
		answer, err := http.Get("http://127.0.0.1:" + ports["6768"] + "/healthz")
		if err == nil {
			_ = answer.Body.Close()
			break
		}
		if meanwhile.Sleep(ctx, 20*time.Millisecond) != nil {
			cancel()
			_ = server.Wait()
			t.Fatalf("the server does not answer: %s", said.String())
		}
	}
	queries := []string{
		`service=shop "listening on port 80"`, `service=shop started`, `service=shop "no such file" stream=stderr`,
		`service=shop level=warn slow http.path=/cart`, `service=web level=warn slow`, `service=nightly "backup is done" facility=cron`, `service=nightly "backup begins"`,
	}
	relay := startRsyslog(t, ctx, folder, guide)
	lines = append(lines, "logger --server 127.0.0.1 --port "+relay+" --tcp --octet-count --tag relayed --priority mail.err 'by way of rsyslog'")
	queries = append(queries, `service=relayed "by way of rsyslog" facility=mail level=error`)
	for _, line := range lines[1:] {
		if out, err := command(ctx, line).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	for _, query := range queries {
		for {
			out, _ := command(ctx, "meanwhile logs find --json '"+query+"'").Output()
			if len(out) > 0 {
				break
			}
			if meanwhile.Sleep(ctx, 20*time.Millisecond) != nil {
				t.Fatalf("nothing came of %s", query)
			}
		}
	}
}

// startRsyslog starts rsyslog with what the guide says it forwards with, and returns the port it takes messages on.
func startRsyslog(t *testing.T, ctx context.Context, folder, guide string) (port string) {
	t.Helper()
	forward := regexp.MustCompile("(?s)```text\n(\\*\\.\\* action\\(type=\"omfwd\".*?)```").FindStringSubmatch(guide)
	if forward == nil {
		t.Fatal("the guide does not say how rsyslog forwards")
	}
	port = unusedPort(t)
	conf := filepath.Join(folder, "rsyslog.conf")
	text := "global(workDirectory=\"" + folder + "\")\nmodule(load=\"imtcp\")\ninput(type=\"imtcp\" address=\"127.0.0.1\" port=\"" + port + "\")\n" + forward[1]
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd := exec.CommandContext(ctx, testenv.Program(t, "rsyslogd"), "-n", "-f", conf, "-i", filepath.Join(folder, "rsyslogd.pid"))
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	t.Cleanup(func() { <-exited })
	for {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
			return port
		}
		select {
		case <-exited:
			t.Fatalf("rsyslog does not answer: %v: %s", cmd.ProcessState, said.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// unusedPort returns a port that nobody listens on.
func unusedPort(t *testing.T) string {
	t.Helper()
	port, err := harm.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(port)
}
