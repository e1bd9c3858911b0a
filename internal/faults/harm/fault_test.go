//go:build unix

package harm

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, active := map[string]int{}, 0
		slow := func(context.Context, *rand.Rand) (Repair, error) {
			if active++; active > 1 {
				t.Error("a fault was injected again before it was undone")
			}
			return Repair{After: 5 * time.Second, Undo: func(context.Context) error {
				active--
				return os.ErrProcessDone
			}}, nil
		}
		faults := []Fault{
			{Name: "slow", Weight: 1, Inject: slow},
			{Name: "quick", Weight: 3, Inject: func(context.Context, *rand.Rand) (Repair, error) { return Repair{}, nil }},
			{Name: "none", Weight: 1, Inject: func(context.Context, *rand.Rand) (Repair, error) { return Repair{}, ErrNothing }},
			{Name: "never", Inject: func(context.Context, *rand.Rand) (Repair, error) {
				return Repair{}, errors.New("drawn without a weight")
			}},
		}
		r := rand.New(rand.NewPCG(1, 1))
		if err := Break(t.Context(), r, faults, time.Minute, 300*time.Millisecond, func(name string) { began[name]++ }); err != nil {
			t.Error(err)
		}
		if active != 0 {
			t.Error("a fault was not undone")
		}
		if len(began) != 2 || began["slow"] < 3 || began["quick"] < 50 {
			t.Errorf("got %v", began)
		}
		if err := Break(t.Context(), r, nil, time.Minute, time.Second, nil); err != nil {
			t.Errorf("without faults: %v", err)
		}
	})
}

func TestBreakSaysWhatItCannot(t *testing.T) {
	moon := errors.New("no moon")
	begin := Fault{Name: "tide", Weight: 1, Inject: func(context.Context, *rand.Rand) (Repair, error) { return Repair{}, moon }}
	fault := Fault{Name: "tide", Weight: 1, Inject: func(context.Context, *rand.Rand) (Repair, error) {
		return Repair{Undo: func(context.Context) error { return moon }}, nil
	}}
	for _, f := range []Fault{begin, fault} {
		synctest.Test(t, func(t *testing.T) {
			err := Break(t.Context(), rand.New(rand.NewPCG(1, 1)), []Fault{f}, time.Minute, time.Second, func(string) {})
			if !errors.Is(err, moon) || !strings.Contains(err.Error(), "tide") {
				t.Errorf("got %v", err)
			}
		})
	}
}
