package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/metrics"
)

// TestMetricsOfFaktory: attempts of clients of Faktory are in the metrics of the server, as those of its own worker are.
func TestMetricsOfFaktory(t *testing.T) {
	store := memory.New()
	defer store.Close()
	p := &plan{Command: &Command{}, logger: slog.New(slog.DiscardHandler), requests: metrics.NewHTTP(partOf)}
	m := metrics.New(metrics.Config{Store: store})
	handler, _, stop := p.parts(store, nil, m)
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- meanwhile.Run(ctx, func(ctx context.Context) error { return p.serveFaktory(ctx, listener, store, m) })
	}()
	defer func() {
		cancel()
		<-served
	}()
	socket, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	_ = socket.SetDeadline(time.Now().Add(time.Minute))
	answers := bufio.NewReader(socket)
	read := func() string {
		t.Helper()
		line, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line)
	}
	ask := func(command, want string) {
		t.Helper()
		if _, err := io.WriteString(socket, command+"\r\n"); err != nil {
			t.Fatal(err)
		}
		if got := read(); !strings.HasPrefix(got, want) {
			t.Fatalf("%s: got %s, want %s", command, got, want)
		}
	}
	read() // the greeting
	ask(`HELLO {"v":2,"wid":"w","hostname":"h","pid":1,"labels":[]}`, "+OK")
	for i, end := range []string{"ACK", "FAIL", "FAIL"} {
		ask(fmt.Sprintf(`PUSH {"jid":"job-00000%d","jobtype":"mail","args":[],"retry":%d}`, i, i-2), "+OK") // at last 0: a failure cancels
		ask("FETCH default", "$")
		read() // the job
		ask(fmt.Sprintf(`%s {"jid":"job-00000%d","message":"no"}`, end, i), "+OK")
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/metrics", nil))
	for _, want := range []string{
		`meanwhile_attempts_total{kind="mail",outcome="completed",queue="default"} 1`,
		`meanwhile_attempts_total{kind="mail",outcome="discarded",queue="default"} 1`,
		`meanwhile_attempts_total{kind="mail",outcome="canceled",queue="default"} 1`,
		`meanwhile_job_wait_seconds_count{kind="mail",queue="default"} 3`,
		`meanwhile_job_run_seconds_count{kind="mail",queue="default"} 3`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestFaktorySettings(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const local, open = "127.0.0.1:7419", "0.0.0.0:7419"
	for _, test := range []struct {
		name     string
		command  Command
		variable string
		password string
		exposed  bool
		want     string // part of the error
	}{
		{name: "none"},
		{name: "local", command: Command{Faktory: local}},
		{name: "variable", command: Command{Faktory: open}, variable: " correct horse\n", password: "correct horse", exposed: true},
		{name: "file", command: Command{Faktory: open, FaktoryPasswordFile: file("right", "battery staple\n")}, variable: "correct horse", password: "battery staple", exposed: true},
		{name: "all", command: Command{Faktory: open, NoAuth: true}, exposed: true},
		{name: "others reach it", command: Command{Faktory: open}, want: "--faktory: others can reach 0.0.0.0:7419: give --faktory-password-file"},
		{name: "all interfaces", command: Command{Faktory: ":7419"}, want: "others can reach :7419"},
		{name: "no port", command: Command{Faktory: "localhost"}, want: `--faktory: "localhost" is not an address`},
		{name: "no address", command: Command{FaktoryFlush: true}, want: "for --faktory, which is not given"},
		{name: "no file", command: Command{Faktory: local, FaktoryPasswordFile: filepath.Join(folder, "none")}, want: "--faktory-password-file: open"},
		{name: "empty file", command: Command{Faktory: local, FaktoryPasswordFile: file("empty", " \n")}, want: "has no password"},
		{name: "short", command: Command{Faktory: local}, variable: "short", want: "MEANWHILE_FAKTORY_PASSWORD: the password has 5 bytes: give one of at least 8"},
		{name: "long", command: Command{Faktory: local}, variable: strings.Repeat("x", 5000), want: "longer than 4096 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("MEANWHILE_FAKTORY_PASSWORD", test.variable)
			got, err := test.command.planFaktory()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if err == nil && (got.password != test.password || got.exposed != test.exposed || got.address != test.command.Faktory) {
				t.Errorf("got %+v", got)
			}
			if err != nil && test.variable != "" && strings.Contains(err.Error(), test.variable) {
				t.Error("the password is in the error")
			}
		})
	}
}
