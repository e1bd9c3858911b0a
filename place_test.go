package meanwhile

import (
	"runtime"
	"testing"
)

// TestEveryDigitIsRead climbs with every digit in every place, and reads the numbers back.
func TestEveryDigitIsRead(t *testing.T) {
	places.Lock()
	defer places.Unlock()
	calls := func() []*place {
		var pcs [20]uintptr
		var list []*place
		for _, pc := range pcs[:runtime.Callers(2, pcs[:])] {
			list = append(list, at(pc))
		}
		return list
	}
	for digit := range uint32(markBase) {
		for place := range markDigits {
			number := (digit << (7 * place)) | 5<<(7*((place+1)%markDigits))
			climb(func() {
				if got, digits := readNumber(calls()[1:]); got != number || digits != markDigits {
					t.Fatalf("got %d of %d digits, want %d", got, digits, number)
				}
			}, number, markDigits)
		}
	}
	if p := calls()[0]; p.digit != noDigit || p.last {
		t.Errorf("got %+v for a place that stands for no digit", p)
	}
}

// TestEveryDigitOfAParkerIsRead parks with every digit, and reads the numbers from the stacks of those that wait.
func TestEveryDigitOfAParkerIsRead(t *testing.T) {
	var parkers []*parker
	var numbers []uint32
	for digit := range uint32(markBase) {
		numbers = append(numbers, digit*markBase+3, 3*markBase+digit)
	}
	done := make(chan struct{})
	for _, number := range numbers {
		p := new(parker)
		p.ready()
		parkers = append(parkers, p)
		go func() {
			climb(func() { p.waitLow(number) }, number, markDigits)
			done <- struct{}{}
		}()
	}
	found := make(map[uint32]bool)
	for range 10000 {
		places.Lock()
		l := takeLook()
		places.Unlock()
		for id, s := range l.stacks {
			if s != nil && s.parks {
				if s.wait != id {
					t.Fatalf("%d was read as %d", id, s.wait)
				}
				found[id] = true
			}
		}
		if len(found) == 2*markBase-2 { // 3*markBase+3 is there twice, and so is known to be ambiguous
			break
		}
	}
	for _, number := range numbers {
		if !found[number] && number != 3*markBase+3 {
			t.Fatalf("%d was not found", number)
		}
	}
	for _, p := range parkers {
		p.wake()
		<-done
	}
}
