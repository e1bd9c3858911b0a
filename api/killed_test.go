package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// TestMain runs a worker instead of the tests if the environment asks for it.
func TestMain(m *testing.M) {
	if url := os.Getenv("MEANWHILE_TEST_WORKER"); url != "" {
		if err := work(url, os.Getenv("MEANWHILE_TEST_NAME"), os.Getenv("MEANWHILE_TEST_HANGS") != ""); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	testenv.Parallel(8)
	os.Exit(m.Run())
}

// work claims and finishes jobs until there are none. With hangs, it claims some, finishes the first, prints that, and waits to be killed.
func work(url, name string, hangs bool) error {
	call := func(path, body string, into any) error {
		answer, err := http.Post(url+path, "application/json", strings.NewReader(body))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != 200 {
			return fmt.Errorf("%s: %d %s, %v", path, answer.StatusCode, text, err)
		}
		return json.Unmarshal(text, into)
	}
	for {
		var got claimed
		if err := call("/worker/claim", fmt.Sprintf(`{"worker":%q,"queues":["default"],"limit":10,"lease":"5s","wait":"20s"}`, name), &got); err != nil {
			return err
		}
		if len(got.Jobs) == 0 {
			return nil
		}
		for _, j := range got.Jobs {
			var answer finished
			end := fmt.Sprintf(`{"ends":[{"session":%q,"id":%q,"attempt":%d,"outcome":"completed","result":%q}]}`, got.Session, j.ID, j.Attempt, name)
			if err := call("/worker/finish", end, &answer); err != nil {
				return err
			}
			if hangs {
				fmt.Println("hangs")
				select {}
			}
		}
	}
}

// TestAKilledWorkerLosesNothing kills a worker that runs jobs: another worker runs them when the lease is over.
func TestAKilledWorkerLosesNothing(t *testing.T) {
	testenv.LongTest(t) // its lease runs out after five seconds, the shortest that the API allows
	t.Parallel()
	store, err := sqlite.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	h := api.New(api.Config{Store: store})
	server := httptest.NewServer(h)
	defer server.Close()
	defer h.Stop()
	const jobs = 15
	var lines strings.Builder
	for i := range jobs {
		fmt.Fprintf(&lines, "{\"kind\":\"k\",\"args\":%d}\n", i)
	}
	ids := read[struct{ IDs []job.ID }](t, ask(h, "POST", "/jobs/bulk?ids=true", lines.String(), ndjson), 200).IDs

	program := func(name string, more ...string) (*exec.Cmd, *bytes.Buffer) {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), append(more, "MEANWHILE_TEST_WORKER="+server.URL+api.Prefix, "MEANWHILE_TEST_NAME="+name)...)
		var out bytes.Buffer
		c.Stderr = &out
		return c, &out
	}
	victim, out := program("victim", "MEANWHILE_TEST_HANGS=1")
	says, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(says).ReadString('\n'); line != "hangs\n" {
		t.Fatalf("the worker printed %q, %v\n%s", line, err, out)
	}
	_ = victim.Process.Kill() // which is SIGKILL
	_ = victim.Wait()
	heir, out := program("heir")
	heir.Stdout = out
	if err := heir.Start(); err != nil {
		t.Fatal(err)
	}
	byVictim, crashed := 0, 0
	for _, id := range ids {
		j, err := job.Await(t.Context(), store, id)
		if err != nil || j.State != job.Completed {
			t.Fatalf("%+v, %v", j, err)
		}
		switch {
		case string(j.Result) == `"victim"` && j.Attempt == 1:
			byVictim++
		case string(j.Result) == `"heir"` && j.Attempt == 2 && j.Crashed == 1 && j.Failures[0].Worker == "victim":
			crashed++
		case string(j.Result) != `"heir"` || j.Attempt != 1:
			t.Errorf("got job %+v", j)
		}
	}
	if byVictim != 1 || crashed != 9 {
		t.Errorf("%d jobs were finished by the killed worker, %d run again by the other, want 1 and 9", byVictim, crashed)
	}
	h.Stop() // the heir waits for more jobs
	if err := heir.Wait(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
