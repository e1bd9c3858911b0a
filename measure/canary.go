package measure

import (
	"slices"
	"time"
)

// A canary does the same small work in each round, which takes longer when something else wants the processors.
type canary struct {
	took []float64
	sum  uint64
}

func (c *canary) measureOnce() {
	begin := time.Now()
	for i := range uint64(200_000) { // some 100 µs
		c.sum = c.sum*6364136223846793005 + i
	}
	c.took = append(c.took, time.Since(begin).Seconds())
}

// slowdown is how much longer the work took in nine rounds of ten at most than in the quickest: 1 on a quiet machine.
func (c *canary) slowdown() float64 {
	sorted := slices.Sorted(slices.Values(c.took))
	if len(sorted) == 0 || sorted[0] == 0 { // as in a bubble of testing/synctest, where work takes no time
		return 1
	}
	return quantile(sorted, 0.9) / sorted[0]
}
