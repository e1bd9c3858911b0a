package measure

import (
	"slices"
	"time"
)

// A canary does the same small amount of work in each round. The work takes longer when other programs use the processors.
type canary struct {
	took []float64
	sum  uint64
}

func (c *canary) measureOnce() {
	begin := time.Now()
	for i := range uint64(200_000) { // about 100 µs
		c.sum = c.sum*6364136223846793005 + i
	}
	c.took = append(c.took, time.Since(begin).Seconds())
}

// slowdown returns by which factor the work took longer, in nine of ten rounds at most, than in the fastest round: 1 on an idle machine.
func (c *canary) slowdown() float64 {
	sorted := slices.Sorted(slices.Values(c.took))
	if len(sorted) == 0 || sorted[0] == 0 { // as in a bubble of testing/synctest, where work takes no time
		return 1
	}
	return quantile(sorted, 0.9) / sorted[0]
}
