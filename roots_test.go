package meanwhile_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
)

// More concurrent trees than the registry has slots are all shown, and none of them after their end.
func TestTreesShowsThousandsOfTrees(t *testing.T) {
	const count = 3000
	shown := func() (n int) {
		for _, tree := range Trees() {
			if strings.HasPrefix(tree.Path, "one of thousands") {
				n++
			}
		}
		return n
	}
	var open, ended sync.WaitGroup
	release := make(chan struct{})
	open.Add(count)
	for range count {
		ended.Go(func() {
			err := Run(t.Context(), func(context.Context) error {
				open.Done()
				<-release
				return nil
			}, Name("one of thousands"))
			if err != nil {
				t.Error(err)
			}
		})
	}
	open.Wait()
	if got := shown(); got != count {
		t.Errorf("%d of %d trees are shown", got, count)
	}
	close(release)
	ended.Wait()
	if got := shown(); got != 0 {
		t.Errorf("%d trees are shown after their end", got)
	}
}
