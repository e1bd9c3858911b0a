//go:build !unix

package redis_test

import (
	"os"
	"testing"
)

func guardFolder(testing.TB, string) {}

func guardProcess(testing.TB, *os.Process) {}

func unguardProcess(testing.TB, *os.Process) {}
