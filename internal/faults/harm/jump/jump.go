//go:build unix

// Package jump is the clock of programs that [harm.Go] builds. In these programs the packages of this module read it instead of package time. Another
// process makes it jump: see harm.Clock.
package jump

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// A jump is by how many seconds the clock is wrong, and until when, in nanoseconds since 1970 by a correct clock.
type jump struct{ by, until atomic.Int64 }

// given is the jump in the file that the environment variable names. The file is mapped into memory, so that other processes can change it.
var given = func() *jump {
	path := os.Getenv("MEANWHILE_FAULTS_CLOCK")
	if path == "" {
		return new(jump)
	}
	file, err := os.Open(path)
	if err != nil {
		panic("jump: " + err.Error())
	}
	defer file.Close()
	page, err := syscall.Mmap(int(file.Fd()), 0, int(unsafe.Sizeof(jump{})), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("jump: map " + path + ": " + err.Error())
	}
	return (*jump)(unsafe.Pointer(unsafe.SliceData(page)))
}()

// Now is [time.Now] with another date while the clock is wrong. The monotonic part is always correct.
func Now() time.Time {
	now := time.Now()
	if now.UnixNano() < given.until.Load() {
		return withDate(now, given.by.Load())
	}
	return now
}

// Since is [time.Since] by this clock.
func Since(t time.Time) time.Duration { return Now().Sub(t) }

// Until is [time.Until] by this clock.
func Until(t time.Time) time.Duration { return t.Sub(Now()) }

// withDate moves the date of t by seconds and keeps its monotonic part, which it must have. Package time has no function for this, so withDate
// changes the internal representation of a time, which init checks when a program starts.
func withDate(t time.Time, seconds int64) time.Time {
	const shift = 30 // of the seconds in the first word, above the nanoseconds
	*(*uint64)(unsafe.Pointer(&t)) += uint64(seconds) << shift
	return t
}

func init() {
	now := time.Now()
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		if moved := withDate(now, int64(by/time.Second)); moved.Round(0).Sub(now.Round(0)) != by || moved.Sub(now) != 0 {
			panic("jump: package time keeps times in another way than it did")
		}
	}
}
