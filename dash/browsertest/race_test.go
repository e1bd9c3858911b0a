//go:build race

package browsertest

// underRace skips what runs in a browser, where the race detector sees nothing: the tests of package dash are for it.
const underRace = true
