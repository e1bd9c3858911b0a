package live

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/profile"
)

// showWaits sends the wait profile.
func showWaits(w http.ResponseWriter, p inspect.WaitProfile, q query) error {
	if p.Snapshots == 0 {
		return refuse(http.StatusNotFound, "there is no wait profile: it comes with the second snapshot of a inspect.Watch, which the program has to start")
	}
	switch {
	case q.pprof:
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", `attachment; filename="waits.pb.gz"`)
		return pprofOf(p).Write(w)
	case q.json:
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(p)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := io.WriteString(w, p.String())
	return err
}

// pprofOf returns a profile for go tool pprof. Its samples are labeled with the task and the wait.
func pprofOf(p inspect.WaitProfile) *profile.Profile {
	converted := profile.New("wait", p.Window)
	for _, t := range p.Tasks {
		for _, s := range t.Waits {
			wait := inspect.Wait{For: s.Wait.For, On: s.Wait.On}.String()
			for frames, d := range s.Stacks() {
				converted.Add(d, stackOf(s.Wait, wait, frames), profile.Label{Key: "task", Value: t.Name}, profile.Label{Key: "wait", Value: wait})
			}
		}
	}
	return converted
}

// stackOf returns a stack for pprof. The functions of the runtime in which goroutines wait are left out: they would be the
// same for most stacks. If the stack is not known, stackOf returns the place, or else the wait.
func stackOf(w inspect.Wait, wait string, frames []inspect.Frame) (stack []profile.Frame) {
	for _, f := range frames {
		if len(stack) > 0 || w.For == "running" || !strings.HasPrefix(f.Func, "runtime.") {
			stack = append(stack, profile.Frame{Func: f.Func, File: f.File, Line: f.Line})
		}
	}
	switch {
	case len(stack) > 0:
		return stack
	case w.File != "":
		return []profile.Frame{{Func: w.Func, File: w.File, Line: w.Line}}
	}
	return []profile.Frame{{Func: wait}}
}
