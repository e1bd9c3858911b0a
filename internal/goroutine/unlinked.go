//go:build !gc || !go1.26 || go1.28 || meanwhile_nolinkname

package goroutine

import "unsafe"

// linked reports that the functions of the runtime are not used with this version of Go; none of those below is called.
const linked = false

type stackRecord struct{ stack []uintptr }

func setLabels(unsafe.Pointer) {}

func getLabels() unsafe.Pointer { return nil }

func profile([]stackRecord, []unsafe.Pointer) (int, bool) { return 0, false }
