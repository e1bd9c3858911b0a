package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The numbers of values left out at each end are those of published tables for the interval of a median.
func TestOutside(t *testing.T) {
	for n, want := range map[int]int{5: 0, 8: 0, 11: 0, 12: 1, 20: 3, 50: 15, 100: 36, 1000: 458} {
		if got := outside(n); got != want {
			t.Errorf("of %d values %d are left out, want %d", n, got, want)
		}
	}
	for n := leastRounds; n < 200; n++ { // adding exact probabilities up has the same result
		sum, each := 0.0, math.Pow(0.5, float64(n))
		k := -1
		for heads := 0; sum+each <= (1-confidence)/2; heads++ {
			sum += each
			each *= float64(n-heads) / float64(heads+1)
			k++
		}
		if got := outside(n); got != max(k, 0) {
			t.Errorf("of %d values %d are left out, want %d", n, got, max(k, 0))
		}
	}
}

// With times that are disturbed as on a busy machine, two functions that differ by a tenth are distinguished, and two equal ones are not,
// in at least 95 of 100 comparisons.
func TestRatioOfDisturbedTimes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	times := func(slow float64, rounds []float64) []float64 {
		var times []float64
		for _, round := range rounds {
			x := slow * round * math.Exp(0.1*random.NormFloat64())
			if random.Float64() < 0.2 {
				x *= 1 + 5*random.ExpFloat64() // the call had to wait for a processor
			}
			times = append(times, x)
		}
		return times
	}
	for _, factor := range []float64{1, 1.1} {
		right, within := 0, 0
		for range 1000 {
			rounds := make([]float64, 300)
			load := 1.0
			for i := range rounds { // the load affects all functions, for a while
				if random.Float64() < 0.05 {
					load = 1 + random.ExpFloat64()
				}
				rounds[i] = load
			}
			r := ratioOf(times(factor, rounds), times(1, rounds))
			if r.Noise == (factor == 1) && (r.Noise || r.Times > 1) {
				right++
			}
			if r.Low <= factor && factor <= r.High {
				within++
			}
		}
		if right < 950 || within < 970 {
			t.Errorf("with a factor of %v, %d of 1000 verdicts are right, and %d intervals contain it", factor, right, within)
		}
	}
}

// A reservoir computes mean and deviation of all values that are added to it, and keeps a bounded sample of them.
func TestReservoirLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1000), 2, 200).Draw(t, "values")
		var r reservoir
		sum := 0.0
		for _, x := range values {
			r.add(x)
			sum += x
		}
		mean, squares := sum/float64(len(values)), 0.0
		for _, x := range values {
			squares += (x - mean) * (x - mean)
		}
		deviation := math.Sqrt(squares / float64(len(values)-1))
		if math.Abs(r.mean-mean) > 1e-6 || math.Abs(r.deviation()-deviation) > 1e-6 || !slices.Equal(r.kept, values) {
			t.Errorf("got %v ± %v, want %v ± %v", r.mean, r.deviation(), mean, deviation)
		}
	})
	var r reservoir
	for i := range 10 * mostKept {
		r.add(float64(i))
	}
	kept := slices.Sorted(slices.Values(r.kept))
	if median := quantile(kept, 0.5) / (10 * mostKept); len(kept) != mostKept || median < 0.47 || median > 0.53 {
		t.Errorf("%d values are kept, their median is at %.3f of all", len(kept), median)
	}
}

func TestBusy(t *testing.T) {
	s := &series{Function: Func("a", nil), batch: 1}
	s.calls.add(1)
	s.rounds = []float64{1}
	c := comparison{series: []*series{s}, rounds: 1, canary: canary{took: []float64{1, 1, 1, 2, 2}}}
	if notes := c.report(true).Notes; len(notes) != 1 || !strings.HasPrefix(notes[0], "the machine was busy: the same small work took up to 2.0 times as long") {
		t.Errorf("got %q", notes)
	}
	c.canary.took = []float64{1, 1, 1.1}
	if notes := c.report(true).Notes; len(notes) != 0 {
		t.Errorf("got %q", notes)
	}
	c.canary = canary{}
	if c.canary.measureOnce(); len(c.canary.took) != 1 || c.canary.took[0] <= 0 {
		t.Errorf("the work took %v", c.canary.took)
	}
}

func TestTable(t *testing.T) {
	r := Report{Rounds: 100, Results: []Result{
		{Name: "at once", PerSecond: 1234, Mean: 811 * time.Microsecond, Deviation: 24 * time.Microsecond, Median: 805 * time.Microsecond, P99: 1200 * time.Microsecond, Allocs: 12},
		{
			Name: "one by one, as everybody writes it first", PerSecond: 419.5, Mean: 2384 * time.Microsecond, Deviation: 71 * time.Microsecond, Median: 2370 * time.Microsecond,
			P99: 3 * time.Millisecond, Allocs: 3.04, Compared: Ratio{Times: 2.94, Low: 2.7, High: 3.2},
		},
		{Name: "two by two", PerSecond: 1.2e6, Mean: 830, Median: 830, P99: 95 * time.Second, Compared: Ratio{Times: 1.02, Low: 0.98, High: 1.06, Noise: true}},
	}, Notes: []string{"the machine was busy"}}
	want := `
function                  per s      mean      ±    median       p99   allocs
at once                   1.23k    811 µs    3 %    805 µs   1.20 ms     12.0
one by one, as everyb…      420   2.38 ms    3 %   2.37 ms   3.00 ms     3.04
two by two                1.20M    830 ns    0 %    830 ns  1.58 min        0

Beside "at once", in 100 rounds:
  one by one, as everybody writes it first: 2.94 × slower (2.70 to 3.20)
  two by two: no difference that can be told from noise: 1.02 × as long (0.98 to 1.06)
Note: the machine was busy.
`
	if got := "\n" + r.String(); got != want {
		t.Errorf("got%s", got)
	}
}
