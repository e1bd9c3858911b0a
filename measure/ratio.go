package measure

import (
	"math"
	"slices"
)

const (
	// leastRounds is the number of rounds that an interval needs.
	leastRounds = 5
	// confidence is the share of comparisons whose interval contains the true ratio, if there are enough rounds for it: 8.
	confidence = 0.99
	// noDifference is how much a ratio must differ from 1 at least to count as a difference: the address of a function in memory may have
	// an effect of this size.
	noDifference = 0.01
)

// A Ratio compares how long the calls of a function take with those of another.
type Ratio struct {
	Times float64 `json:"times"` // 2 means twice as long; the median of the ratios of all rounds
	// Low and High bound the ratio with a confidence of 99 %; of 94 to 98 % with fewer than eight rounds. They are zero with fewer than
	// five rounds.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Noise reports that both functions may take the same time: the interval includes 1, the difference is below 1 %, or there were too few
	// rounds.
	Noise bool `json:"noise"`
}

// ratioOf compares the times of rounds, of which there is at least one. Only times of the same round are compared, since a disturbance of a
// round affects both. The interval is that of the median by order statistics, which assumes nothing about the distribution (W. J. Conover,
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

// outside returns how many of n sorted values are left out at each end of the interval of their median: the largest k for which the
// probability of at most k heads among n coins is at most half of 1 - confidence, or 0 if there is none.
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

// probability returns the probability of k heads among n coins.
func probability(n, k int) float64 {
	all, _ := math.Lgamma(float64(n) + 1)
	heads, _ := math.Lgamma(float64(k) + 1)
	tails, _ := math.Lgamma(float64(n-k) + 1)
	return math.Exp(all - heads - tails - float64(n)*math.Ln2)
}
