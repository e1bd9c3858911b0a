package meanwhile

import "strings"

// waitOf names what a task waits for, and where, by its part of a goroutine's stack.
func waitOf(calls []*place) Wait {
	below := 0 // how many calls there are below the code of the program and its modules
	for below < len(calls) && !calls[below].callsLibraries() {
		below++
	}
	var w Wait
	w.For, w.On = reasonOf(calls, below)
	w.locate(calls, below)
	return w
}

// callsLibraries reports whether p is in code that calls the standard library, or this package.
func (p *place) callsLibraries() bool {
	return (p.owner == ofProgram || p.owner == ofModule) && !p.stub && !p.kernel
}

// locate finds the caller's own code: the program's, or where there is none a module's.
func (w *Wait) locate(calls []*place, first int) {
	own := first
	for own < len(calls) && (calls[own].owner != ofProgram || calls[own].stub) {
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
		if called := calls[own-1]; called.owner != ofRuntime && called.pkg != p.pkg {
			w.Call = called.Func
			if called.owner == ofUs {
				w.Call, _, _ = strings.Cut(w.Call, ".func") // the loop over what Map returns is in a function of Map
			}
		}
	}
}

// reasonOf says what for the innermost calls of a stack wait.
func reasonOf(calls []*place, below int) (reason, on string) {
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
	for i, p := range parked {
		if p.parks != "" {
			return refine(p.parks, parked[i+1:])
		}
	}
	return "unknown", ""
}

// parkReasons are the functions of the runtime that park a goroutine.
var parkReasons = map[string]string{
	"runtime.chanrecv":               "receive",
	"runtime.chansend":               "send",
	"runtime.selectgo":               "select",
	"runtime.block":                  "nothing",
	"time.Sleep":                     "sleep",
	"runtime.semacquire1":            "lock",
	"sync.runtime_notifyListWait":    "cond",
	"internal/poll.runtime_pollWait": "poll",
	"runtime.gcAssistAlloc":          "running", // helps the collector
	"runtime.gcStart":                "running",
}

// refine makes a reason more exact by the calls around it.
func refine(reason string, calls []*place) (better, on string) {
	switch reason {
	case "lock":
		return lockReason(calls), ""
	case "poll":
		return pollReason(calls)
	case "receive", "select", "send":
		for _, p := range calls {
			if on := p.networkCall(); on != "" {
				return "network", on
			}
			if strings.HasPrefix(p.Func, "os/exec.(*Cmd).") {
				return "process", ""
			}
		}
	}
	return reason, ""
}

// lockReason names a lock by the outermost call into package sync. There is none for a lock inside the standard library,
// such as the one around the writes of a connection.
func lockReason(calls []*place) string {
	reason := "mutex"
	for _, p := range calls {
		if p.pkg != "sync" && p.pkg != "internal/sync" && p.pkg != "runtime" {
			break
		}
		name := strings.TrimPrefix(p.Func, p.pkg+".")
		switch {
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

// pollReason tells the network from files.
func pollReason(calls []*place) (reason, on string) {
	reason = "file"
	for _, p := range calls {
		if method, ok := strings.CutPrefix(p.Func, "internal/poll.(*FD)."); ok && on == "" {
			on = pollNames[method]
		}
		switch {
		case p.pkg == "net":
			reason = "network"
			if call := p.networkCall(); call != "" {
				on = call
			}
		case strings.HasPrefix(p.Func, "os.(*Process)."):
			return "process", ""
		}
	}
	return reason, on
}

var pollNames = map[string]string{
	"Accept": "accept", "WaitWrite": "connect", "Connect": "connect", "Write": "write", "Writev": "write", "Pwrite": "write",
	"WriteTo": "write", "WriteToInet4": "write", "WriteToInet6": "write", "WriteMsg": "write", "WriteMsgInet4": "write",
	"WriteMsgInet6": "write", "Read": "read", "Pread": "read", "ReadFrom": "read", "ReadFromInet4": "read",
	"ReadFromInet6": "read", "ReadMsg": "read", "ReadMsgInet4": "read", "ReadMsgInet6": "read", "RawRead": "read",
	"RawWrite": "write",
}

// networkCall says what a function of package net, or of one above it, waits for; empty if that is not known.
func (p *place) networkCall() string {
	switch {
	case (p.pkg == "net/http" || strings.HasPrefix(p.pkg, "net/http/")) && strings.Contains(p.Func, "oundTrip"):
		return "HTTP answer"
	case p.pkg == "net/http" && strings.HasSuffix(p.Func, ".getConn"):
		return "connect"
	case p.pkg != "net":
		return ""
	case strings.Contains(p.Func, "Resolver"), strings.Contains(p.Func, "ookup"):
		return "name lookup"
	case strings.Contains(p.Func, "ial"), strings.Contains(p.Func, ".connect"):
		return "connect"
	}
	return ""
}

// kernelCall names the call by the function around it.
func kernelCall(calls []*place, below int) (reason, on string) {
	for i, p := range calls {
		if p.kernel {
			continue
		}
		if on == "" {
			on = strings.ToLower(p.Func[strings.LastIndexByte(p.Func, '.')+1:])
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

// stubName is the name of the function in C.
func stubName(calls []*place) string {
	for _, p := range calls {
		if _, name, ok := strings.Cut(p.Func, stubMark); ok {
			return name
		}
	}
	return ""
}

// ourReason recognizes the waits inside this package. The innermost counts, except where an outer one is more to the point:
// a pacer sleeps.
func ourReason(calls []*place) string {
	reason := ""
	for _, p := range calls {
		if r := p.ours; reason == "" || r == "rate" || r == "retry" || r == "blocking" {
			reason = r
		}
	}
	return reason
}

var ourReasons = map[string]string{
	"Sleep":                 "sleep",
	"(*node).sleep":         "sleep",
	"(*Pacer).Wait":         "rate",
	"(*RetryPolicy).run":    "retry",
	"(*node).join":          "tasks",
	"(*Task).Wait":          "task",
	"(*Semaphore).Acquire":  "semaphore",
	"Blocking":              "blocking",
	"(*flow).await":         "stream",
	"(*flow).close":         "stream",
	"(*batcher).each":       "stream",
	"(*batcher).hand":       "full",
	"receive":               "receive",
	"(*interruptible).Read": "read",
	"(*signalQueue).next":   "signal",
	"(*worker).turn":        idle,
}

// idle is the reason of a worker between two items, which is no task.
const idle = "idle"
