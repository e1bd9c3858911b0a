package main

import (
	"path"
	"runtime"
	"strconv"
	"strings"
)

// A goroutine is what the traceback of the runtime says about a goroutine. The tree is made of other data. The traceback has the state of each
// goroutine, so it shows whether a task is really stuck.
type goroutine struct {
	state string                  // running, runnable, or what it waits for
	funcs map[sourceLine][]string // the functions of this package that it is in, by line: with cgo two may have the same
}

// idle reports whether g waits, in the kernel or for another goroutine.
func (g goroutine) idle() bool {
	return g.state != "running" && g.state != "runnable" && g.state != "preempted" && !strings.HasPrefix(g.state, "GC ")
}

// traceback returns all goroutines of the process.
func traceback() []goroutine {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			return parseTraceback(string(buf[:n]))
		}
		buf = make([]byte, 2*len(buf))
	}
}

// parseTraceback parses what runtime.Stack writes: for each goroutine a line with its state, then two lines for each function.
func parseTraceback(text string) []goroutine {
	var all []goroutine
	for block := range strings.SplitSeq(text, "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		_, state, _ := strings.Cut(lines[0], "[")
		state, _, _ = strings.Cut(state, "]")
		state, _, _ = strings.Cut(state, ",") // how long, and whether a thread is locked
		g := goroutine{state: state, funcs: make(map[sourceLine][]string)}
		for i := 1; i+1 < len(lines); i++ {
			function, at := lines[i], lines[i+1]
			name, ours := strings.CutPrefix(function, "main.")
			if !ours || !strings.HasPrefix(at, "\t") {
				continue
			}
			at, _, _ = strings.Cut(strings.TrimSpace(at), " ")
			file, line, _ := strings.Cut(path.Base(at), ":")
			number, err := strconv.Atoi(line)
			if arguments := strings.LastIndexByte(name, '('); err == nil && arguments > 0 {
				here := sourceLine{file, number}
				g.funcs[here] = append(g.funcs[here], "main."+name[:arguments])
			}
		}
		all = append(all, g)
	}
	return all
}
