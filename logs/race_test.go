//go:build race

package logs

// underRace skips what counts allocations: the race detector has pools forget at random.
const underRace = true
