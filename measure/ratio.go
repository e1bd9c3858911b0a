package measure

import (
	"math"
	"slices"
)

const (
	// leastRounds are needed for an interval.
	leastRounds = 5
	// confidence is the share of comparisons whose interval holds the true ratio, where there are rounds enough for it: 8.
	confidence = 0.99
	// noDifference is what a ratio must differ from 1 by at least to be called a difference: the place of a function in memory
	// may make as much.
	noDifference = 0.01
)

// A Ratio says how much longer the calls of a function take than those of another.
type Ratio struct {
	Times float64 `json:"times"` // 2 is twice as long; the median of the ratios of all rounds
	// Low and High bound the ratio with a confidence of 99 %; of 94 to 98 % with fewer than eight rounds. They are zero with
	// fewer than five rounds.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Noise says that the two may as well take the same time: the interval includes 1, the difference is below 1 %, or there were too
	// few rounds.
	Noise bool `json:"noise"`
}

// ratioOf compares the times of rounds, of which there is at least one. Only times of the same round are compared, since what disturbs a round
// disturbs both. The interval is that of the median by order statistics, which supposes nothing about the distribution (W. J. Conover,
// "Practical Nonparametric Statistics", 3.2).
func ratioOf(these, others []float64) Ratio {
	ratios := make([]float64, len(these))
	for i := range these {
		ratios[i] = these[i] / others[i]
	}
	slices.Sort(ratios)
	r := Ratio{Times: quantile(ratios, 0.5), Noise: true}
	if len(ratios) >= leastRounds {
		k := outside(len(ratios))
		r.Low, r.High = ratios[k], ratios[len(ratios)-1-k]
		r.Noise = r.Low <= 1 && r.High >= 1 || math.Abs(r.Times-1) < noDifference
	}
	return r
}

// outside is how many of n sorted values are left out at each end of the interval of their median: the most for which as many coins
// as that, or fewer, show heads among n with a probability of at most half of what the confidence leaves.
func outside(n int) int {
	left := (1 - confidence) / 2
	k := 0
	for sum := probability(n, 0); ; k++ {
		sum += probability(n, k+1)
		if sum > left {
			return k
		}
	}
}

// probability is that of k heads among n coins.
func probability(n, k int) float64 {
	all, _ := math.Lgamma(float64(n) + 1)
	heads, _ := math.Lgamma(float64(k) + 1)
	tails, _ := math.Lgamma(float64(n-k) + 1)
	return math.Exp(all - heads - tails - float64(n)*math.Ln2)
}
