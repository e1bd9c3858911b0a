package inspect

import "runtime/pprof"

// LeaksIn reads another profile of goroutines in the way Leaks reads its own.
func LeaksIn(profile *pprof.Profile) ([]Leak, error) { return leaksIn(profile) }
