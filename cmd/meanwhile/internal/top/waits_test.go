package top

import (
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/inspect"
)

func TestWaitProfile(t *testing.T) {
	s := newScreen(t, shop())
	s.press("s")
	s.wantAsked("waits")
	s.wantLine("Asking for the wait profile …")

	minute := inspect.WaitProfile{Window: time.Minute, Snapshots: 590, Took: 300 * time.Millisecond, Tasks: []inspect.TaskWaits{{
		Name: "shop/order", Time: 3 * time.Minute, Waits: []inspect.WaitShare{
			{Wait: inspect.Wait{For: "database pool", File: "/src/shop/orders.go", Line: 94, Call: "database/sql.(*DB).QueryContext"}, Share: 0.86},
			{Wait: inspect.Wait{For: "running"}, Share: 0.14},
		},
	}}}
	s.model.Update(answer{request: request{kind: waits}, at: s.time, waits: minute})
	for _, want := range []string{
		"the last 1m0s: 590 snapshots, which took 0.5 % of a processor at most",
		"shop/order: 86 % database pool, 14 % running; 3.0 tasks on average",
		"  86.0 %  database pool, orders.go:94 (sql.(*DB).QueryContext)",
	} {
		s.wantLine(want)
	}

	s.model.Update(due(s.model.round)) // it is requested again with the next snapshot
	s.wantAsked("waits")
	s.fail(request{kind: waits}, errRefused)
	s.wantLine("The wait profile could not be had: connection refused")
	s.wantAsked("picture")
	s.show()

	s.press("?") // the help, and back to the list
	s.wantLine("Keys")
	s.press("s", "esc")
	s.wantLine("TASK")
	s.model.Update(answer{request: request{kind: waits}, at: s.time, waits: minute}) // too late
	s.wantLine("TASK")
	if s.model.queue.waits {
		t.Error("the wait profile would be requested again")
	}
}

// TestWaitProfileOfNoWatch: for a program without a running Watch, the page says what is missing.
func TestWaitProfileOfNoWatch(t *testing.T) {
	s := newScreen(t, shop())
	s.press("s")
	s.fail(request{kind: waits}, &probe.Failure{Reason: "there is no wait profile"})
	s.wantLine("The wait profile could not be had: there is no wait profile")
}
