//go:build cgo

package main

import "C"

var never = make(chan int)

// stuckCallback is called from C.
//
//export stuckCallback
func stuckCallback() {
	<-never // stuck: c-callback
}
