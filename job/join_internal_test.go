package job

import (
	"fmt"
	"testing"
)

func joinedOf(n int) *Joined {
	j := &Joined{}
	for i := range n {
		j.parts = append(j.parts, &part{index: i})
	}
	return j
}

// TestOwnersStayWhatTheyAre: stored jobs lie by them, so that they must be the same in every version.
func TestOwnersStayWhatTheyAre(t *testing.T) {
	got := ""
	for i := range 32 {
		got += fmt.Sprint(joinedOf(5).ranked(fmt.Sprint("unique note ", i))[0].index)
	}
	if want := "13001331340022034040344433204124"; got != want {
		t.Errorf("the owners are %s, want %s", got, want)
	}
}

// TestAStoreThatIsAddedTakesItsShare: no key moves between those before.
func TestAStoreThatIsAddedTakesItsShare(t *testing.T) {
	const keys = 30_000
	for n := 1; n <= 8; n++ {
		before, after := joinedOf(n), joinedOf(n+1)
		owned, moved := make([]int, n), 0
		for i := range keys {
			key := fmt.Sprint("queue q", i)
			a, b := before.ranked(key)[0].index, after.ranked(key)[0].index
			owned[a]++
			if a != b {
				moved++
				if b != n {
					t.Fatalf("%q moves from store %d to store %d of %d", key, a+1, b+1, n+1)
				}
			}
		}
		for i, got := range owned {
			if want := keys / n; got < want*95/100 || got > want*105/100 {
				t.Errorf("of %d stores the %dth owns %d keys, want about %d", n, i+1, got, want)
			}
		}
		if want := keys / (n + 1); moved < want*95/100 || moved > want*105/100 {
			t.Errorf("%d keys move to a store beside %d, want about %d", moved, n, want)
		}
	}
}
