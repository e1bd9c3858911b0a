package wakeup

import (
	"fmt"
	"slices"
	"testing"
)

// news reports whether a call that waits for queues finds news at once.
func (e *Events) news(queues ...string) bool {
	w := e.Wait(queues)
	defer w.End()
	return len(w.News()) > 0
}

func TestNewsComeOnce(t *testing.T) {
	var e Events
	steps := []struct {
		notify string // "*" for every queue, "" for none
		queues []string
		want   bool
	}{
		{"", []string{"a"}, false},
		{"a", []string{"b"}, false},
		{"", []string{"a", "b"}, true},
		{"", []string{"b", "a"}, false}, // the same set
		{"", []string{"a"}, true},       // another one
		{"", []string{"a"}, false},
		{"*", []string{"b"}, true},
		{"", []string{"b"}, false},
		{"b", []string{"a"}, true}, // of every queue
		{"", []string{"a"}, false},
	}
	for i, s := range steps {
		switch s.notify {
		case "":
		case "*":
			e.NotifyAll()
		default:
			e.Notify(s.notify)
		}
		if got := e.news(s.queues...); got != s.want {
			t.Errorf("step %d: news of %v: %v, want %v", i+1, s.queues, got, s.want)
		}
	}
}

// TestNewsNameTheQueues: news are the queues that had events, all of them after an event of every queue.
func TestNewsNameTheQueues(t *testing.T) {
	var e Events
	w := e.Wait([]string{"c", "a", "b"})
	defer w.End()
	for _, step := range []struct {
		notify string // "*" for every queue
		want   []string
	}{
		{"a", []string{"a"}},
		{"other", nil},
		{"b", []string{"b"}},
		{"*", []string{"c", "a", "b"}},
		{"b", []string{"b"}},
	} {
		if step.notify == "*" {
			e.NotifyAll()
		} else {
			e.Notify(step.notify)
		}
		if got := w.News(); !slices.Equal(got, step.want) {
			t.Errorf("after an event of %s: news of %v, want %v", step.notify, got, step.want)
		}
	}
}

// TestEachWaiterHasTheNews: two waiters for the same queues at once each have their own news.
func TestEachWaiterHasTheNews(t *testing.T) {
	var e Events
	a, b := e.Wait([]string{"q"}), e.Wait([]string{"q"})
	e.Notify("q")
	if len(a.News()) == 0 || len(a.News()) > 0 || len(b.News()) == 0 {
		t.Error("one of two waiters has no news, or the first has the same news twice")
	}
	a.End()
	e.Notify("q")
	if len(b.News()) == 0 {
		t.Error("the second has no news of the second event")
	}
	b.End()
	for i, want := range []bool{true, false} { // what a knew, and then what b knew
		w := e.Wait([]string{"q"})
		if got := len(w.News()) > 0; got != want {
			t.Errorf("caller %d has news: %v, want %v", i+1, got, want)
		}
		defer w.End()
	}
}

func TestWakeClosesTheChannel(t *testing.T) {
	var e Events
	for i, wake := range []func(){e.Wake, e.NotifyAll, func() { e.Notify("q") }} {
		changed := e.Changed()
		select {
		case <-changed:
			t.Fatalf("%d: the channel is closed before", i)
		default:
		}
		wake()
		select {
		case <-changed:
		default:
			t.Errorf("%d: the channel is not closed", i)
		}
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	var e Events
	for i := range 2 * mostQueues {
		e.Notify(fmt.Sprint(i))
	}
	if len(e.queues) > mostQueues || !e.news("of none of these") {
		t.Errorf("%d queues are kept, want at most %d, and the others to be one", len(e.queues), mostQueues)
	}
	for i := range 2 * mostSets {
		e.news(fmt.Sprint(i))
	}
	if n := len(e.marks); n != mostSets {
		t.Errorf("%d sets are kept, want %d", n, mostSets)
	}
	all := make([]*Waiter, 2*mostMarks)
	for i := range all {
		all[i] = e.Wait([]string{"same"})
	}
	for _, w := range all {
		w.End()
	}
	if n := len(e.marks["same"]); n != mostMarks {
		t.Errorf("%d marks are kept of one set, want %d", n, mostMarks)
	}
	for range all {
		e.Wait([]string{"same"})
	}
	if _, kept := e.marks["same"]; kept {
		t.Error("a set without marks is kept")
	}
}
