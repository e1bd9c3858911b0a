package probe

import (
	"reflect"
	"slices"
	"testing"

	"github.com/meanwhile-go/meanwhile/inspect"
)

func forest() []inspect.Node {
	task := func(id uint32, path, name string, w inspect.Wait, below ...inspect.Node) inspect.Node {
		return inspect.Node{ID: id, Name: name, Path: path, State: "running", Wait: w, Tasks: below}
	}
	trees := []inspect.Node{
		task(1, "shop", "shop", inspect.Wait{For: "tasks"},
			task(2, "shop/Server", "Server", inspect.Wait{For: "network", On: "accept", Call: "net/http.Serve", File: "/src/shop/web/main.go", Line: 31},
				task(3, "shop/Server/x", "x", inspect.Wait{For: "mutex", Func: "main.lock"})),
			task(4, "shop/b", "b", inspect.Wait{For: "task", On: "c", Deadlock: true})),
		task(5, "once", "once", inspect.Wait{For: "running"}),
	}
	trees[0].Tasks[1].State = "canceled"
	trees[0].More = 7
	return trees
}

func TestFilter(t *testing.T) {
	tests := []struct {
		word    string
		matches int
		ids     []uint32
	}{
		{"", 5, []uint32{1, 2, 3, 4, 5}},
		{"server", 2, []uint32{1, 2, 3}}, // the path of the child task has it, too
		{"SERVER/X", 1, []uint32{1, 2, 3}},
		{"network ACC", 1, []uint32{1, 2}},
		{"net/http.serve", 1, []uint32{1, 2}},
		{"web/main.go:31", 1, []uint32{1, 2}},
		{"src", 0, nil}, // this part of the path is not shown
		{"main.lock", 1, []uint32{1, 2, 3}},
		{"canceled", 1, []uint32{1, 4}},
		{"deadlock", 1, []uint32{1, 4}},
		{"running", 1, []uint32{5}}, // matches what it waits for, not the state, which nearly all tasks have
		{"nobody", 0, nil},
	}
	for _, test := range tests {
		trees := forest()
		kept, matches := Filter(trees, test.word)
		if got := ids(kept); !slices.Equal(got, test.ids) || matches != test.matches {
			t.Errorf("%q: got %v, %d matches, want %v, %d", test.word, got, matches, test.ids, test.matches)
		}
		if !reflect.DeepEqual(trees, forest()) {
			t.Errorf("%q changed the trees", test.word)
		}
	}
}

func ids(trees []inspect.Node) (all []uint32) {
	for _, n := range trees {
		all = append(append(all, n.ID), ids(n.Tasks)...)
	}
	return all
}

func TestCounts(t *testing.T) {
	trees := forest()
	if got := Listed(trees); got != 5 {
		t.Errorf("%d listed, want 5", got)
	}
	if got := Below(&trees[0]); got != 10 {
		t.Errorf("%d below, want 10: 3 listed and 7 more", got)
	}
}
