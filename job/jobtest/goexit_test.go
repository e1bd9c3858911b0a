package jobtest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// goexitEnv is set in the process whose tests are to fail.
const goexitEnv = "MEANWHILE_JOBTEST_GOEXIT"

// goexits are the ways in which a handler ends the test.
var goexits = []struct {
	name    string
	handler func(t *testing.T) job.Handler
	want    string // how the test ends
	output  string
}{
	{"Fatal", func(t *testing.T) job.Handler {
		return sendMail.Handle(func(context.Context, mail) error {
			t.Fatal("no mail today")
			return nil
		})
	}, "FAIL", "no mail today"},
	{"Fatal in a task", func(t *testing.T) job.Handler {
		return sendMail.Handle(func(ctx context.Context, _ mail) error {
			meanwhile.Go(ctx, func(context.Context) error {
				t.Fatal("no mail today")
				return nil
			})
			return nil
		})
	}, "FAIL", "the handler of mail.send called runtime.Goexit"},
	{"Skip", func(t *testing.T) job.Handler {
		return sendMail.Handle(func(context.Context, mail) error {
			t.Skip("no mail today")
			return nil
		})
	}, "SKIP", "no mail today"},
}

// goexitRuns are the functions that run the handler.
var goexitRuns = []struct {
	name string
	run  func(t *testing.T, h job.Handler)
}{
	{"Run", func(t *testing.T, h job.Handler) { jobtest.Run(t, h, mailTo(t, "a")) }},
	{"Drain", func(t *testing.T, h job.Handler) { jobtest.Drain(t, storeOfMails(t), h) }},
	{"DrainFor", func(t *testing.T, h job.Handler) { jobtest.DrainFor(t, storeOfMails(t), time.Hour, h) }},
}

func storeOfMails(t *testing.T) job.Store {
	t.Helper()
	store := memory.New()
	for range 3 {
		if _, err := job.Insert(t.Context(), store, mailTo(t, "a")); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// TestFatalInAHandlerEndsTheTest runs tests that fail on purpose, in another process.
func TestFatalInAHandlerEndsTheTest(t *testing.T) {
	command := exec.Command(os.Args[0], "-test.run=^TestFatalInAHandler$", "-test.v", "-test.timeout=1m")
	command.Env = append(os.Environ(), goexitEnv+"=1")
	out, err := command.CombinedOutput()
	if err == nil {
		t.Error("the tests that fail on purpose passed")
	}
	for _, how := range goexitRuns {
		for _, test := range goexits {
			want := "--- " + test.want + ": TestFatalInAHandler/" + how.name + "/" + strings.ReplaceAll(test.name, " ", "_") + " ("
			for _, text := range []string{want, test.output} {
				if !strings.Contains(string(out), text) {
					t.Errorf("%s, %s: the output has no %q", how.name, test.name, text)
				}
			}
		}
	}
	if strings.Contains(string(out), afterwards) {
		t.Error("a test continued after it should have ended")
	}
	if t.Failed() {
		t.Logf("the end of the output:\n%s", out[max(len(out)-4000, 0):])
	}
}

const afterwards = "the test goes on"

// TestFatalInAHandler is run by TestFatalInAHandlerEndsTheTest.
func TestFatalInAHandler(t *testing.T) {
	if os.Getenv(goexitEnv) == "" {
		t.Skip("fails on purpose: see TestFatalInAHandlerEndsTheTest")
	}
	for _, how := range goexitRuns {
		t.Run(how.name, func(t *testing.T) {
			for _, test := range goexits {
				t.Run(test.name, func(t *testing.T) {
					how.run(t, test.handler(t))
					t.Log(afterwards)
				})
			}
		})
	}
}
