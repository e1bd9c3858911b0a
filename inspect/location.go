package inspect

import (
	"hash/maphash"
	"runtime"
	"strings"
	"sync"
)

// A location is a place in the program's code where a goroutine can be: what is known about a program counter.
type location struct {
	Frame
	pkg    string // of the function
	origin codeOrigin
	begins beginning // what a function of this package begins, when it calls the program's
	serial uint64
	parks  string      // why a goroutine that is parked here waits, by parkReasons
	ours   string      // the same for a function of this package, by ourReasons
	waits  libraryWait // what the function waits for, by libraryWaits
	dials  bool        // it makes a connection of net/http
	kernel bool        // it enters the kernel
	stub   bool        // it was made by cgo to call C
}

// places remembers what is known about program counters. There are no more of them than the program has code. Its mutex is held while a snapshot of
// the goroutines is taken.
var places = struct {
	sync.Mutex
	known  map[uintptr]*location
	recent [1024]recentPlace
}{known: make(map[uintptr]*location)}

// recentPlace is an entry of a small cache in front of the map: snapshots ask for the same few places again and again.
type recentPlace struct {
	pc uintptr
	p  *location
}

// at returns the location of a return address in the form of runtime.Callers and the profiles. The caller holds the mutex.
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

// inlined returns the location of a call that was inlined into another.
func inlined(f Frame) *location {
	p := placesByFrame[f]
	if p == nil {
		p = describe(f)
		placesByFrame[f] = p
	}
	return p
}

// placesByFrame has the locations of inlined calls; the mutex of places guards it.
var placesByFrame = make(map[Frame]*location)

// placeSeed is the seed for the hashes of places.
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
