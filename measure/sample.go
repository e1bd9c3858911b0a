package measure

import (
	"math"
	"math/rand/v2"
)

// mostKept is how many times of single calls are kept per function.
const mostKept = 20_000

// A reservoir keeps a random sample, of bounded size, of the values that are added to it (J. Vitter, "Random Sampling with a Reservoir",
// ACM TOMS, 1985), and the mean and variance of all values (B. Welford, Technometrics, 1962).
type reservoir struct {
	kept    []float64
	count   float64
	mean    float64
	squares float64 // sum of the squared distances to the mean
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

// quantile returns a quantile of sorted values, of which there is at least one, interpolated between neighbours.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}
