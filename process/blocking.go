package process

import (
	"strconv"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// SetMaxBlocking sets how many calls of [meanwhile.Blocking] may run concurrently in this process, and returns the previous
// number. The default is 100. Running calls continue. It panics unless n is positive. It may be called concurrently.
//
// [meanwhile.Blocking]: https://pkg.go.dev/github.com/meanwhile-go/meanwhile#Blocking
func SetMaxBlocking(n int) (before int) {
	if n <= 0 {
		panic("process: SetMaxBlocking(" + strconv.Itoa(n) + "): give a positive number")
	}
	return scope.BlockingSem.Resize(n)
}
