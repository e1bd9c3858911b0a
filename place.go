package meanwhile

import (
	"runtime"
	"strings"
	"sync"
)

// A place is one in the program's code where a goroutine can be: what is known of a program counter.
type place struct {
	Frame
	pkg    string // of the function
	owner  owner
	digit  int8 // in a climber: of the number that it writes, or noDigit
	last   bool // the highest
	serial uint64
	parks  string // why a goroutine waits that is parked here, by parkReasons
	ours   string // the same for a function of this package, by ourReasons
	kernel bool   // enters the kernel
	stub   bool   // made by cgo to call C
}

// noDigit is the digit of a place that is in no climber.
const noDigit = -1

// places remembers what has been found out about program counters; there are no more than the program has code. Its mutex
// is held by whoever looks at the goroutines.
var places = struct {
	sync.Mutex
	known  map[uintptr]*place
	recent [1024]recentPlace
}{known: make(map[uintptr]*place)}

// recentPlace is an entry of a small cache before the map: a look asks for the same few places again and again.
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
		if p = describe(Frame{f.Function, f.File, f.Line}); p.owner == ofUs {
			p.readDigit(pc)
		}
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

// lastSerial is the number of the newest place; the mutex of places guards it.
var lastSerial uint64

func describe(f Frame) *place {
	lastSerial++
	p := &place{Frame: f, serial: lastSerial, pkg: packageOf(f.Func), digit: noDigit}
	if home := homeOf(f.File); home != "" {
		p.pkg = home
	}
	p.owner = ownerOf(p.pkg)
	p.kernel = isKernelCall(p.pkg, f.Func)
	p.stub = strings.Contains(f.Func, stubMark)
	p.parks = parkReasons[f.Func]
	if p.owner == ofUs {
		p.ours = ourReasons[strings.ReplaceAll(strings.TrimPrefix(f.Func, ownPackage+"."), "[...]", "")]
	}
	return p
}

// digitLines says where the digits are written: the line of digit 0, counted from that of its function, when each digit
// takes two. TestEveryDigitIsRead compares it with the code.
var digitLines = []struct {
	function string
	line     int
	last     bool
}{
	{".(*climber).step", 6, false},
	{".(*climber).step", 6 + 2*markBase + 4, true},
	{".(*parker).waitLow", 3, false},
	{".(*parker).waitHigh", 3, true},
}

// readDigit finds out which digit a place in this package stands for.
func (p *place) readDigit(pc uintptr) {
	f := runtime.FuncForPC(pc)
	if f == nil {
		return
	}
	_, begin := f.FileLine(f.Entry())
	for _, d := range digitLines {
		digit := (p.Line - begin - d.line) / 2
		if p.Func == ownPackage+d.function && p.Line >= begin+d.line && digit < markBase {
			p.digit, p.last = int8(digit), d.last
			return
		}
	}
}
