//go:build unix && !linux

package main

import "errors"

// adopt would make this program the parent of processes whose own one ends before them. Only Linux can.
func adopt() error { return errors.ErrUnsupported }
