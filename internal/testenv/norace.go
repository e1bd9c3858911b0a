//go:build !race

package testenv

// UnderRace reports whether the race detector is on. It makes pools drop items at random, so tests that count allocations skip.
const UnderRace = false
