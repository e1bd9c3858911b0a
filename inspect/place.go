package inspect

import (
	"hash/maphash"
	"runtime"
	"strings"
	"sync"
)

// A place is one in the program's code where a goroutine can be: what is known of a program counter.
type place struct {
	Frame
	pkg    string // of the function
	owner  owner
	begins beginning // of a function of this package that calls the program's
	serial uint64
	parks  string      // why a goroutine waits that is parked here, by parkReasons
	ours   string      // the same for a function of this package, by ourReasons
	waits  libraryWait // what the function waits for, by libraryWaits
	dials  bool        // makes a connection of net/http
	kernel bool        // enters the kernel
	stub   bool        // made by cgo to call C
}

// places remembers what has been found out about program counters; there are no more than the program has code. Its mutex
// is held by who takes a snapshot of the goroutines.
var places = struct {
	sync.Mutex
	known  map[uintptr]*place
	recent [1024]recentPlace
}{known: make(map[uintptr]*place)}

// recentPlace is an entry of a small cache before the map: a snapshot asks for the same few places again and again.
type recentPlace struct {
	pc uintptr
	p  *place
}

// at returns the place of a return address, as runtime.Callers and the profiles have them. The caller holds the mutex.
func at(pc uintptr) *place {
	recent := &places.recent[(pc^pc>>10)%uintptr(len(places.recent))]
	if recent.pc == pc && recent.p != nil {
		return recent.p
	}
	p := find(pc)
	*recent = recentPlace{pc, p}
	return p
}

func find(pc uintptr) *place {
	p := places.known[pc]
	if p == nil {
		f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
		p = describe(Frame{f.Function, f.File, f.Line})
		places.known[pc] = p
	}
	return p
}

// inlined returns the place of a call that was inlined into another, by what is known of it.
func inlined(f Frame) *place {
	p := placesByFrame[f]
	if p == nil {
		p = describe(f)
		placesByFrame[f] = p
	}
	return p
}

// placesByFrame are the inlined ones; the mutex of places guards it.
var placesByFrame = make(map[Frame]*place)

// placeSeed makes the numbers of places.
var placeSeed = maphash.MakeSeed()

func describe(f Frame) *place {
	p := &place{Frame: f, serial: maphash.Comparable(placeSeed, f), pkg: packageOf(f.Func)}
	if home := homeOf(f.File); home != "" {
		p.pkg = home
	}
	p.owner = ownerOf(p.pkg)
	p.kernel = isKernelCall(p.pkg, f.Func)
	p.stub = strings.Contains(f.Func, stubMark)
	p.parks = parkReasons[f.Func]
	p.waits = libraryWaits[libraryName(f.Func)]
	p.dials = f.Func == dialHTTP
	if p.owner == ofUs {
		name := strings.ReplaceAll(f.Func[strings.LastIndexByte(f.Func, '/')+1:], "[...]", "")
		p.ours, p.begins = ourReasons[name], beginnings[name]
	}
	return p
}
