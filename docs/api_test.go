package docs_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/internal/access"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func mountAPI(mux *http.ServeMux, store job.Store) {
	mux.Handle(api.Prefix+"/", api.New(api.Config{Store: store}))
}

// TestPythonWorker runs the worker of the guide, with a token of the role for it, until an operator has it stop. The first request of each path gets no
// answer, as when the server is restarted.
func TestPythonWorker(t *testing.T) {
	t.Parallel()
	python := testenv.Program(t, "python3")
	guard, err := access.New(access.Config{
		Tokens:     []access.Token{{Name: "farm", Role: access.Worker, Hash: sha256.Sum256([]byte("t0ken"))}},
		ForWorkers: api.ForWorkers,
	})
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New()
	mux := http.NewServeMux()
	mountAPI(mux, store)
	var seen sync.Map // paths
	guarded := guard.Wrap(mux)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, again := seen.LoadOrStore(r.URL.Path, true); !again && r.URL.Path != api.Prefix+"/worker/extend" {
			panic(http.ErrAbortHandler)
		}
		guarded.ServeHTTP(w, r)
	}))
	defer server.Close()
	blocks := readBlocks(t, "api.md")
	i := slices.IndexFunc(blocks, func(b block) bool { return b.kind == "python" })
	if i < 0 {
		t.Fatal("the guide has no worker in Python")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const wait = `"wait": "20s"`
	if !strings.Contains(blocks[i].text, wait) {
		t.Fatalf("the worker has no %s, at the end of which it may learn that it is to stop", wait)
	}
	run := exec.CommandContext(ctx, python, "-c", strings.Replace(blocks[i].text, wait, `"wait": "1s"`, 1))
	run.Env = append(os.Environ(), "URL="+server.URL+api.Prefix, "TOKEN=t0ken", "NO_PROXY=*")
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	for args, want := range map[string]string{`{"text":"a b c"}`: `{"words":3}`, `{}`: ""} {
		j, err := job.New("words.count", json.RawMessage(args), job.MaxAttempts(1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Insert(ctx, store, j); err != nil {
			t.Fatal(err)
		}
		done, err := job.Await(ctx, store, j.ID)
		if err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		if string(done.Result) != want || want == "" && done.LastError() != "KeyError: 'text'" {
			t.Errorf("%s: it is %+v", args, done)
		}
	}
	workers, err := store.Workers(ctx)
	if err != nil || len(workers) != 1 {
		t.Fatalf("listed are %+v, %v", workers, err)
	}
	if err := store.SendCommand(ctx, workers[0].Name, job.Command{Do: job.CommandStop}); err != nil {
		t.Fatal(err)
	}
	extend(ctx, t, server.URL, workers[0].Name)
	if err := <-ended; err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
}

// extend extends the leases of a program, with which it learns at once what it would learn within ten seconds: that it is to stop.
func extend(ctx context.Context, t *testing.T, server, worker string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server+api.Prefix+"/worker/extend", strings.NewReader(`{"worker":{"name":"`+worker+`"}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer t0ken")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status)
	}
}

// TestRequests runs the commands of the guide to the API, block by block, against a server that wants a token.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"sh", "curl"} {
		testenv.Program(t, program)
	}
	guard, err := access.New(access.Config{Tokens: []access.Token{{Name: "guide", Role: access.Admin, Hash: sha256.Sum256([]byte("t0ken"))}}})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mountAPI(mux, memory.New())
	server := httptest.NewServer(guard.Wrap(mux))
	defer server.Close()

	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".curlrc"), []byte("silent\nshow-error\nfail-with-body\nmax-time=30\nnoproxy=*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, b := range readBlocks(t, "api.md") {
		if b.kind != "sh" {
			continue
		}
		ran++
		run := exec.CommandContext(t.Context(), "sh", "-ec", b.text)
		run.Env = append(os.Environ(), "HOME="+home, "CURL_HOME="+home, "URL="+server.URL+api.Prefix, "TOKEN=t0ken")
		if out, err := run.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s\n%s", b, err, b.text, out)
		} else {
			t.Logf("%v:\n%s", b, out)
		}
	}
	if ran < 5 {
		t.Errorf("the guide has %d blocks of commands", ran)
	}
}
