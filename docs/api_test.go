package docs_test

import (
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/internal/access"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func mountAPI(mux *http.ServeMux, store job.Store) {
	mux.Handle(api.Prefix+"/", api.New(api.Config{Store: store}))
}

// TestRequests runs the commands of the guide to the API, block by block, against a server that wants a token.
func TestRequests(t *testing.T) {
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
