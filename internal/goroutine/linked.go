//go:build gc && go1.26 && !go1.28 && !meanwhile_nolinkname

package goroutine

import "unsafe"

// linked reports that the functions below can be reached. The build tags name the versions of Go that they were tested with.
const linked = true

// stackRecord is laid out as the runtime's internal/profilerecord.StackRecord.
type stackRecord struct{ stack []uintptr }

//go:linkname setLabels runtime/pprof.runtime_setProfLabel
func setLabels(set unsafe.Pointer)

//go:linkname getLabels runtime/pprof.runtime_getProfLabel
func getLabels() unsafe.Pointer

//go:linkname profile runtime.pprof_goroutineProfileWithLabels
func profile(records []stackRecord, labels []unsafe.Pointer) (n int, ok bool)
