package inspect

import (
	"cmp"
	"strings"
)

// waitOf returns what a task waits for, and where, from its part of a goroutine's stack.
func waitOf(calls []*location) Wait {
	below := 0 // the number of calls below the code of the program and its modules
	for below < len(calls) && !calls[below].callsLibraries() {
		below++
	}
	var w Wait
	w.For, w.On = reasonOf(calls, below)
	w.locate(calls, below)
	return w
}

// callsLibraries reports whether p is in code that calls the standard library or this module.
func (p *location) callsLibraries() bool {
	return (p.origin == ofProgram || p.origin == ofModule) && !p.stub && !p.kernel
}

// locate finds the caller's own code: the program's or, if there is none, a module's.
func (w *Wait) locate(calls []*location, first int) {
	own := first
	for own < len(calls) && (calls[own].origin != ofProgram || calls[own].stub) {
		own++
	}
	if own == len(calls) {
		own = first
	}
	if own == len(calls) {
		return
	}
	p := calls[own]
	w.Func, w.File, w.Line = p.Func, p.File, p.Line
	if own > 0 {
		if called := calls[own-1]; called.origin != ofRuntime && called.pkg != p.pkg {
			w.Call = called.Func
			if called.origin == ofUs {
				w.Call, _, _ = strings.Cut(w.Call, ".func") // the loop over the result of Map is in a function literal of Map
			}
		}
	}
}

// reasonOf returns what the innermost calls of a stack wait for.
func reasonOf(calls []*location, below int) (reason, on string) {
	if len(calls) == 0 {
		return "unknown", ""
	}
	switch leaf := calls[0]; {
	case leaf.Func == "runtime.cgocall":
		return "C call", stubName(calls)
	case leaf.kernel:
		return kernelCall(calls, below)
	case leaf.Func == "runtime.coroswitch":
		return "source", ""
	case leaf.Func != "runtime.gopark":
		return "running", ""
	}
	parked := calls[1:max(1, below)]
	if reason := ourReason(parked); reason != "" {
		return reason, ""
	}
	reason, around := "unknown", parked
	for i, p := range parked {
		if p.origin != ofRuntime {
			break
		}
		if p.parks != "" {
			reason, around = p.parks, calls[i+2:]
		}
	}
	return refine(reason, around)
}

// parkReasons has the functions of the runtime that park a goroutine, and those that park it for a lock of the runtime, which then is not the
// reason.
var parkReasons = map[string]string{
	"runtime.chanrecv":               "receive",
	"runtime.chansend":               "send",
	"runtime.selectgo":               "select",
	"runtime.block":                  "nothing",
	"time.Sleep":                     "sleep",
	"runtime.semacquire1":            "lock",
	"sync.runtime_notifyListWait":    "cond",
	"internal/poll.runtime_pollWait": "poll",
	"runtime.gcAssistAlloc":          "running", // it helps the garbage collector
	"runtime.gcStart":                "running",
	"runtime.gcWaitOnMark":           "running", // it requested a collection
	"runtime.stopTheWorld":           "running", // briefly, as soon as the collector allows it
	"runtime.stopTheWorldGC":         "running",
}

// refine makes a reason more specific, using the innermost calls around it.
func refine(reason string, calls []*location) (better, on string) {
	switch reason {
	case "poll":
		return pollReason(calls)
	case "lock":
		return lockReason(calls), ""
	case "receive", "send", "select", "cond":
	default:
		return reason, ""
	}
	for len(calls) > 0 && (calls[0].origin == ofRuntime || calls[0].pkg == "sync" || calls[0].pkg == "internal/sync") {
		calls = calls[1:]
	}
	if known, ok := knownWait(calls); ok {
		return known.reason, known.on
	}
	if reason == "receive" || reason == "select" {
		for _, p := range calls {
			if p.pkg != "net" {
				break
			}
			if on := p.networkCall(); on != "" {
				return "network", on
			}
		}
	}
	return reason, ""
}

// knownWait returns what the innermost call waits for, if that is a known function.
func knownWait(calls []*location) (w libraryWait, ok bool) {
	for _, p := range calls {
		known := p.waits
		if known.reason != "" {
			w.reason, w.on, ok = known.reason, cmp.Or(w.on, known.on), true
		}
		if !known.wrapped {
			break
		}
	}
	return w, ok
}

// lockReason names a lock by the innermost call into package sync that is more specific than a mutex; calls further out may be a Once that runs
// the function. It also returns "mutex" for a lock inside the standard library, such as the one for writes to a connection.
func lockReason(calls []*location) string {
	reason := "mutex"
	for _, p := range calls {
		if p.pkg != "sync" && p.pkg != "internal/sync" && p.pkg != "runtime" {
			break
		}
		name := strings.TrimPrefix(p.Func, p.pkg+".")
		switch {
		case reason != "mutex":
		case strings.Contains(name, "Once"):
			reason = "once"
		case strings.HasPrefix(name, "(*RWMutex)."), strings.HasPrefix(name, "(*rlocker)."):
			reason = "rwmutex"
		case strings.HasPrefix(name, "(*WaitGroup)."):
			reason = "waitgroup"
		}
	}
	return reason
}

// pollReason distinguishes the network from files, and reads from writes. A copy between two descriptors in the kernel waits for one of them:
// sendfile for the connection that it writes to, splice for the one that it reads from or else the one that it writes to.
func pollReason(calls []*location) (reason, on string) {
	reason = "file"
	inside := true // the calls so far are of package internal/poll
	for _, p := range calls {
		switch method, _ := strings.CutPrefix(p.Func, "internal/poll."); {
		case method == "SendFile", method == "spliceDrain":
			return "network", on
		case method == "(*FD).Accept":
			on = "accept"
		case on != "" || p.pkg != "internal/poll":
		case strings.Contains(method, "Read"): // waitRead, or, on Windows, which has none, a method of FD
			on = "read"
		case strings.Contains(method, "Write"):
			on = "write"
		}
		if inside && p.pkg != "internal/poll" {
			inside = false
			if p.pkg == "net" {
				reason = "network"
			}
		}
		if strings.HasPrefix(p.Func, "os.(*Process).") {
			return "process", ""
		}
		if call := p.networkCall(); call != "" && reason == "network" {
			on = call
		}
	}
	return reason, on
}

// networkCall returns what a function of package net waits for, if that is more specific than a read or a write.
func (p *location) networkCall() string {
	switch {
	case p.pkg != "net":
		return ""
	case strings.Contains(p.Func, "Resolver"), strings.Contains(p.Func, "ookup"):
		return "name lookup"
	case strings.Contains(p.Func, "ial"), strings.Contains(p.Func, ".connect"):
		return "connect"
	}
	return ""
}

// kernelCall names a system call by the function of package syscall, or of a similar one, that the calling code used.
func kernelCall(calls []*location, below int) (reason, on string) {
	for i, p := range calls {
		if p.kernel {
			on = p.Func // used if nothing better follows: the call was made by its number
			continue
		}
		if on == "" || strings.Contains(on, ".") {
			if entersKernel(p.pkg) {
				on = strings.ToLower(p.Func[strings.LastIndexByte(p.Func, '.')+1:])
			}
		}
		if i >= below {
			break
		}
		if strings.HasPrefix(p.Func, "os.(*Process).") || strings.HasPrefix(p.Func, "os/exec.(*Cmd).") {
			return "process", ""
		}
	}
	return "system call", on
}

const stubMark = "._Cfunc_"

// stubName returns the name of the function in C.
func stubName(calls []*location) string {
	for _, p := range calls {
		if _, name, ok := strings.Cut(p.Func, stubMark); ok {
			return name
		}
	}
	return ""
}

// ourReason recognizes waits inside this module. The innermost one counts, unless an outer one is more specific: a retry sleeps.
func ourReason(calls []*location) string {
	reason := ""
	for _, p := range calls {
		if r := p.ours; reason == "" || r == "rate" || r == "retry" || r == "blocking" || r == "limit" {
			reason = r
		}
	}
	return reason
}

var ourReasons = map[string]string{
	"meanwhile.Sleep":                   "sleep",
	"meanwhile.(*Pacer).wait":           "rate",
	"meanwhile.(*retryPolicy).runPaced": "retry",
	"scope.(*Node).Join":                "tasks",
	"meanwhile.(*Task).Wait":            "task",
	"meanwhile.(*Semaphore).Acquire":    "semaphore",
	"meanwhile.Blocking":                "blocking",
	"meanwhile.awaitPlace":              "limit",
	"meanwhile.(*flow).await":           "stream",
	"meanwhile.(*flow).close":           "stream",
	"meanwhile.(*batcher).each":         "stream",
	"meanwhile.(*batcher).send":         "full",
	"meanwhile.receive":                 "receive",
	"meanwhile.(*interruptible).Read":   "read",
	"process.(*signalQueue).next":       "signal",
	"meanwhile.(*flow).admit":           "source",
}
