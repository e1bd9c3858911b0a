//go:build cgo

package main

/*
#include <unistd.h>

extern void stuckCallback(void);

// A signal may end pause.
void wait_for_ever(void) { for (;;) pause(); }

void wait_with(void *p) { wait_for_ever(); }

void call_back(void) { stuckCallback(); }
*/
import "C"

import (
	"context"
	"unsafe"

	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(
		stuckCase{name: "c-call", start: cCall, want: []want{
			{path: "own", wait: "C call", at: "c-own", has: []string{"wait_for_ever"}},
			{path: "library", wait: "C call", at: "c-library", has: []string{"pause"}},
			{path: "pointer", wait: "C call", at: "c-pointer", has: []string{"wait_with"}},
		}},
		stuckCase{name: "c-callback", start: cCallback, want: []want{{path: "waiter", wait: "receive", at: "c-callback"}}},
		stuckCase{name: "c-blocking", start: cBlocking, want: []want{
			{path: "caller", wait: "blocking", at: "c-blocking"},
			{path: "caller/blocking", wait: "C call", at: "c-blocking-call", has: []string{"wait_for_ever"}},
		}},
	)
}

func cCall(ctx context.Context) error {
	meanwhile.Go(ctx, func(context.Context) error {
		C.wait_for_ever() // stuck: c-own
		return nil
	}, meanwhile.Name("own"))
	meanwhile.Go(ctx, func(context.Context) error {
		for {
			C.pause() // stuck: c-library
		}
	}, meanwhile.Name("library"))
	// cgo adds a check around the call if it passes a pointer to Go memory.
	meanwhile.Go(ctx, func(context.Context) error {
		buf := make([]byte, 8)
		C.wait_with(unsafe.Pointer(&buf[0])) // stuck: c-pointer
		return nil
	}, meanwhile.Name("pointer"))
	return nil
}

// cCallback calls a function in C that calls one in Go, which waits.
func cCallback(ctx context.Context) error {
	meanwhile.Go(ctx, func(context.Context) error {
		C.call_back()
		return nil
	}, meanwhile.Name("waiter"))
	return nil
}

func cBlocking(ctx context.Context) error {
	call := func() (int, error) {
		C.wait_for_ever() // stuck: c-blocking-call
		return 0, nil
	}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := meanwhile.Blocking(ctx, call) // stuck: c-blocking
		return err
	}, meanwhile.Name("caller"))
	return nil
}
