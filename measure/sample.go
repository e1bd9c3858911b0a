package measure

import (
	"math"
	"math/rand/v2"
)

// mostKept is how many times of single calls are kept of a function.
const mostKept = 20_000

// A reservoir keeps a random sample of what is added to it, of bounded size (J. Vitter, "Random Sampling with a Reservoir", ACM
// TOMS, 1985), and the mean and variance of all of it (B. Welford, Technometrics, 1962).
type reservoir struct {
	kept    []float64
	count   float64
	mean    float64
	squares float64 // of the distances to the mean
}

func (r *reservoir) add(x float64) {
	r.count++
	d := x - r.mean
	r.mean += d / r.count
	r.squares += d * (x - r.mean)
	if len(r.kept) < mostKept {
		r.kept = append(r.kept, x)
	} else if i := rand.Int64N(int64(r.count)); i < mostKept {
		r.kept[i] = x
	}
}

func (r *reservoir) deviation() float64 {
	if r.count < 2 {
		return 0
	}
	return math.Sqrt(r.squares / (r.count - 1))
}

// quantile is that of sorted values, which are there, interpolated between neighbours.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}
