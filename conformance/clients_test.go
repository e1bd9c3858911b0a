//go:build unix

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// run runs a client program against our server, and returns the JSON that it printed.
func run(t *testing.T, folder string, command ...string) map[string]any {
	t.Helper()
	address := url.URL{Scheme: "tcp", User: url.UserPassword("", password), Host: ours(t)}
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = folder, append(os.Environ(), "FAKTORY_URL="+address.String()), os.Stderr
	cmd.WaitDelay = time.Second
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command[0], err, text)
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n")) // clients log to the same output
	var got map[string]any
	if err := json.Unmarshal(lines[len(lines)-1], &got); err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	return got
}

func want(t *testing.T, got, want map[string]any) {
	t.Helper()
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
	}
}

func TestGoClient(t *testing.T) {
	program, err := buildClient()
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, ".", program)
	want(t, got, map[string]any{
		"done": 200.0, "failed": 1.0, "twice": 0.0, "dead": 2.0, "percent": 42.0, "state": "success", "paused": true, "killed": true,
		"not_unique": "NOTUNIQUE Job not unique",
	})
	if wrong, _ := got["wrong"].(map[string]any); len(wrong) != 1 || wrong["x"] == nil {
		t.Errorf("refused in bulk: %v", wrong)
	}
}

// TestNodeClient needs the module faktory-worker, which "npm install --prefix FOLDER faktory-worker@4" installs;
// MEANWHILE_FAKTORY_NODE is FOLDER.
func TestNodeClient(t *testing.T) {
	folder := os.Getenv("MEANWHILE_FAKTORY_NODE")
	if folder == "" {
		missing(t, "MEANWHILE_FAKTORY_NODE names no folder with the Node client")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing(t, "no node: %v", err)
	}
	script, err := filepath.Abs("nodeclient/client.js")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NODE_PATH", filepath.Join(folder, "node_modules"))
	want(t, run(t, folder, node, script), map[string]any{"done": 100.0, "failed": 1.0, "twice": 0.0, "dead": 1.0, "rejected": 0.0})
}
