//go:build !race

package testenv

// UnderRace reports whether the race detector is on, with which pools forget at random: what counts allocations skips.
const UnderRace = false
