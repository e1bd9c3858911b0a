package jobtest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

var faults = slices.Concat(insertFaults, claimFaults, settleFaults, thenFaults, waitFaults, applyFaults, listFaults, cronFaults, liveFaults, limitFaults,
	throttleFaults, unitsFaults, inOrderFaults, holdFaults, weightFaults, overrideFaults, auditFaults)

// insideEnv is set in the process whose tests are to fail.
const insideEnv = "MEANWHILE_JOBTEST_BROKEN"

// TestFaultsAreNoticed runs the suite on stores that are broken on purpose, in another process, since its tests are expected to fail.
// Each fault must be noticed, and each test of the suite must notice one.
func TestFaultsAreNoticed(t *testing.T) {
	notices := map[string]bool{}
	for _, fault := range faults {
		for _, name := range fault.noticed {
			notices[name] = true
		}
	}
	for _, p := range contract {
		if !notices[p.name] {
			t.Errorf("no fault makes %q fail", p.name)
		}
	}

	command := exec.Command(os.Args[0], "-test.run=^TestBrokenStores$", "-test.v")
	command.Env = append(os.Environ(), insideEnv+"=1")
	out, err := command.CombinedOutput()
	if err == nil {
		t.Error("the tests of broken stores passed")
	}
	failed := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if test, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok {
			test, _, _ = strings.Cut(test, " (")
			failed[test] = true
		}
	}
	for _, fault := range faults {
		for _, name := range fault.noticed {
			test := strings.ReplaceAll("TestBrokenStores/"+fault.name+"/"+name, " ", "_")
			if !failed[test] {
				t.Errorf("%q does not notice that %s", name, fault.name)
			}
		}
	}
	if t.Failed() {
		t.Logf("the end of the output:\n%s", out[max(len(out)-4000, 0):])
	}
}

// TestBrokenStores is run by TestFaultsAreNoticed.
func TestBrokenStores(t *testing.T) {
	if os.Getenv(insideEnv) == "" {
		t.Skip("fails on purpose: see TestFaultsAreNoticed")
	}
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			for _, name := range fault.noticed {
				i := slices.IndexFunc(contract, func(p promise) bool { return p.name == name })
				t.Run(name, func(t *testing.T) {
					keepsInBubble(t, contract[i], func(*testing.T) job.Store {
						b := &broken{Store: memory.New()}
						fault.apply(b)
						return b
					})
				})
			}
		})
	}
}

func TestRelaxationsLeaveOutPromises(t *testing.T) {
	for r, names := range relaxed {
		for _, name := range names {
			i := slices.IndexFunc(contract, func(p promise) bool { return p.name == name })
			if i < 0 {
				t.Errorf("%q skips %q, which is no promise", r, name)
			} else if got := leftOut(contract[i], []Relaxation{r}); got != r {
				t.Errorf("%q is skipped by %q, want %q", name, got, r)
			}
		}
	}
	if got := leftOut(contract[0], []Relaxation{OrderInParts}); got != "" {
		t.Errorf("%q is skipped by %q", contract[0].name, got)
	}
}

// TestBeforeTimeout tests that the tests of a store end before the timeout of go test.
func TestBeforeTimeout(t *testing.T) {
	ctx, cancel := beforeTimeout(t)
	defer cancel()
	got, bounded := ctx.Deadline()
	if end, want := t.Deadline(); bounded != want || want && !got.Before(end) {
		t.Errorf("they end at %v, %t; go test at %v, %t", got, bounded, end, want)
	}
}
