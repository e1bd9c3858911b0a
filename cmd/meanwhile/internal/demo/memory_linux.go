package demo

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
)

// residentMemory returns the resident memory of this process, now and at its maximum. The kernel's other value for the maximum
// (getrusage) includes that of the parent process.
func residentMemory() (m memory) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return memory{}
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch {
		case err != nil:
		case name == "VmRSS":
			m.Mean = kilobytes << 10
		case name == "VmHWM":
			m.Most = kilobytes << 10
		}
	}
	return m
}
