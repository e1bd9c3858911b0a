package job

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"
)

// TestWaitsByKindAreBounded: however many kinds and places of waits there are, a worker reports a few kilobytes.
func TestWaitsByKindAreBounded(t *testing.T) {
	var p inspect.WaitProfile
	var kinds []string
	for i := range 30 {
		kind := fmt.Sprintf("kind %02d", i)
		kinds = append(kinds, kind)
		task := inspect.TaskWaits{Name: "shop/jobs/slot/" + kind}
		for k := range 20 {
			w := inspect.Wait{For: "network", On: "read", File: fmt.Sprint(k, strings.Repeat("é", 100), ".go"), Line: 1}
			task.Waits = append(task.Waits, inspect.WaitShare{Wait: w, Time: time.Duration(i+1) * time.Second})
		}
		task.Waits = append(task.Waits, inspect.WaitShare{Wait: inspect.Wait{For: "tasks"}, Time: time.Hour})
		p.Tasks = append(p.Tasks, task, inspect.TaskWaits{Name: "other/" + kind, Waits: task.Waits})
	}
	list := waitsByKind(p, "shop/jobs/slot/", kinds)
	if len(list) != mostWaitKinds || list[0].Kind != "kind 29" || list[9].Kind != "kind 20" || list[0].Time != 600*time.Second {
		t.Errorf("got %+v", list)
	}
	for _, k := range list {
		if len(k.Waits) != mostKindWaits {
			t.Errorf("%s has %d waits", k.Kind, len(k.Waits))
		}
		for _, w := range k.Waits {
			if len(w.Wait) > mostWaitBytes {
				t.Errorf("%d bytes: %s", len(w.Wait), w.Wait)
			}
		}
	}
}
