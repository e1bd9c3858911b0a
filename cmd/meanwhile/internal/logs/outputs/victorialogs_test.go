//go:build unix

package outputs_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/logs/outputs"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs/forward"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
)

// victoriaLogs starts the server whose program MEANWHILE_VICTORIALOGS names, and returns its address. Building it takes minutes,
// so CI does without it.
func victoriaLogs(t *testing.T) string {
	t.Helper()
	if err := testenv.VictoriaLogs.Find(); err != nil {
		t.Skipf("no %s: %v", testenv.VictoriaLogs.Name, err)
	}
	program := os.Getenv("MEANWHILE_VICTORIALOGS")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	command := exec.CommandContext(t.Context(), program, "-storageDataPath="+t.TempDir(), "-httpListenAddr="+address, "-loggerLevel=ERROR")
	command.Stderr = t.Output()
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Wait() })
	for range 300 {
		if response, err := http.Get("http://" + address + "/health"); err == nil {
			_ = response.Body.Close()
			return address
		}
		time.Sleep(100 * time.Millisecond) // the program is starting
	}
	t.Fatal("victoria-logs does not answer")
	return ""
}

// keptBy returns the identities of the server's records of some services. The server sorts only by time.
func keptBy(t *testing.T, address, service, identity string, services []string) (kept []logtest.Identity) {
	t.Helper()
	if response, err := http.Get("http://" + address + "/internal/force_flush"); err == nil {
		_ = response.Body.Close()
	}
	for _, name := range services {
		query := url.Values{"query": {fmt.Sprintf(`%s:=%q | fields %q`, strconv.Quote(service), name, identity)}}
		response, err := http.PostForm("http://"+address+"/select/logsql/query", query)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			var fields map[string]string
			if err := json.Unmarshal(lines.Bytes(), &fields); err != nil {
				t.Fatalf("%s: %v", lines.Bytes(), err)
			}
			kept = append(kept, logtest.Identity{Service: name, Identity: fields[identity]})
		}
		_ = response.Body.Close()
	}
	number := func(i logtest.Identity) int {
		parts := strings.Split(i.Identity, "-")
		n, _ := strconv.Atoi(parts[max(0, len(parts)-2)])
		return n
	}
	slices.SortStableFunc(kept, func(a, b logtest.Identity) int { return number(a) - number(b) })
	return kept
}

// TestVictoriaLogs sends records to a real server over three protocols.
func TestVictoriaLogs(t *testing.T) {
	address := victoriaLogs(t)
	for name, way := range map[string]struct{ url, service, identity string }{
		"bulk": {"victorialogs://%s", "service.name", "event.id"},
		"otlp": {"otlp://%s/insert/opentelemetry/v1/logs", "service.name", "log.record.uid"},
		"loki": {"loki://%s/insert", "service", "identity"},
	} {
		t.Run(name, func(t *testing.T) {
			logtest.TestOutput(t, logtest.OtherSide{
				Address: address,
				Open: func(t *testing.T, address string) forward.Output {
					output, err := outputs.Open(fmt.Sprintf(way.url, address), "")
					if err != nil {
						t.Fatal(err)
					}
					return output
				},
				Kept: func(t *testing.T, services ...string) []logtest.Identity {
					return keptBy(t, address, way.service, way.identity, services)
				},
			})
		})
	}
}
