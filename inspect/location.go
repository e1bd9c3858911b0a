package inspect

import (
	"hash/maphash"
	"runtime"
	"strings"
	"sync"
)

// A location is one in the program's code where a goroutine can be: what is known of a program counter.
type location struct {
	Frame
	pkg    string // of the function
	origin codeOrigin
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
	known  map[uintptr]*location
	recent [1024]recentPlace
}{known: make(map[uintptr]*location)}

// recentPlace is an entry of a small cache before the map: a snapshot asks for the same few places again and again.
type recentPlace struct {
	pc uintptr
	p  *location
}

// at returns the location of a return address, as runtime.Callers and the profiles have them. The caller holds the mutex.
func at(pc uintptr) *location {
	recent := &places.recent[(pc^pc>>10)%uintptr(len(places.recent))]
	if recent.pc == pc && recent.p != nil {
		return recent.p
	}
	p := find(pc)
	*recent = recentPlace{pc, p}
	return p
}

func find(pc uintptr) *location {
	p := places.known[pc]
	if p == nil {
		f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
		p = describe(Frame{f.Function, f.File, f.Line})
		places.known[pc] = p
	}
	return p
}

// inlined returns the location of a call that was inlined into another, by what is known of it.
func inlined(f Frame) *location {
	p := placesByFrame[f]
	if p == nil {
		p = describe(f)
		placesByFrame[f] = p
	}
	return p
}

// placesByFrame are the inlined ones; the mutex of places guards it.
var placesByFrame = make(map[Frame]*location)

// placeSeed makes the numbers of places.
var placeSeed = maphash.MakeSeed()

func describe(f Frame) *location {
	p := &location{Frame: f, serial: maphash.Comparable(placeSeed, f), pkg: packageOf(f.Func)}
	if home := homeOf(f.File); home != "" {
		p.pkg = home
	}
	p.origin = ownerOf(p.pkg)
	p.kernel = isKernelCall(p.pkg, f.Func)
	p.stub = strings.Contains(f.Func, stubMark)
	p.parks = parkReasons[f.Func]
	p.waits = libraryWaits[libraryName(f.Func)]
	p.dials = dialsHTTP[f.Func]
	if p.origin == ofUs {
		name := strings.ReplaceAll(f.Func[strings.LastIndexByte(f.Func, '/')+1:], "[...]", "")
		p.ours, p.begins = ourReasons[name], beginnings[name]
	}
	return p
}
