package live_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
	"pgregory.net/rapid"
)

// outline returns trees as text in the form name(below …)+more.
func outline(trees []inspect.Node) string {
	var parts []string
	for _, n := range trees {
		s := n.Name
		if len(n.Tasks) > 0 {
			s += "(" + outline(n.Tasks) + ")"
		}
		if n.More > 0 {
			s += fmt.Sprintf("+%d", n.More)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

func TestMax(t *testing.T) {
	tests := []struct{ max, want string }{
		{"1", "shop+4"}, // cron and the tasks below shop are left out
		{"2", "shop+4 cron"},
		{"3", "shop(orders+2)+1 cron"},
		{"4", "shop(orders+2 mail) cron"},
		{"5", "shop(orders(buy)+1 mail) cron"},
		{"6", "shop(orders(buy sell) mail) cron"},
		{"1000000", "shop(orders(buy sell) mail) cron"},
	}
	trees := shop()
	h := live.HandlerOf(live.Config{}, func() []inspect.Node { return trees })
	for _, test := range tests {
		s := snapshot(t, h, "&max="+test.max)
		if got := outline(s.Trees); got != test.want || s.Tasks != 6 {
			t.Errorf("max=%s: got %s of %d tasks, want %s of 6", test.max, got, s.Tasks, test.want)
		}
	}
	if !reflect.DeepEqual(trees, shop()) {
		t.Errorf("the trees of the snapshot have changed: %s", outline(trees))
	}
}

// Tasks that the snapshot itself left out stay counted.
func TestMaxAddsToMore(t *testing.T) {
	h := live.HandlerOf(live.Config{}, func() []inspect.Node {
		return []inspect.Node{{Name: "a", More: 10, Tasks: []inspect.Node{{Name: "b", More: 20}}}}
	})
	s := snapshot(t, h, "&max=1")
	if got := outline(s.Trees); got != "a+31" || s.Tasks != 32 {
		t.Errorf("got %s of %d tasks, want a+31 of 32", got, s.Tasks)
	}
}

func TestMaxInText(t *testing.T) {
	trees := append(shop(), make([]inspect.Node, 1200)...)
	h := live.HandlerOf(live.Config{}, func() []inspect.Node { return trees })
	w := ask(t, h, local("GET", "/?max=3", ""))
	_, drawn, _ := strings.Cut(w.Body.String(), "\n")
	kept := shop()[:1]
	kept[0].Tasks, kept[0].More = nil, 4
	if want := kept[0].String() + "cron"; !strings.HasPrefix(drawn, want) || !strings.HasSuffix(drawn, "\n… and 1199 more\n") {
		t.Errorf("got\n%s", drawn)
	}
	if !strings.Contains(drawn, "… and 4 more") {
		t.Errorf("the text does not count the tasks that were left out below shop:\n%s", drawn)
	}
	if !strings.Contains(w.Body.String(), ": 1,206 tasks,") {
		t.Errorf("got %s", w.Body)
	}
}

func TestMaxByDefault(t *testing.T) {
	h := live.HandlerOf(live.Config{}, func() []inspect.Node {
		return []inspect.Node{{Name: "a", Tasks: make([]inspect.Node, 10_500)}}
	})
	if s := snapshot(t, h, ""); len(s.Trees[0].Tasks) != 9_999 || s.Trees[0].More != 501 || s.Tasks != 10_501 {
		t.Errorf("got %d listed, %d more, %d in all", 1+len(s.Trees[0].Tasks), s.Trees[0].More, s.Tasks)
	}
}

// An endless recursion is shown only up to a depth that can be read.
func TestDepth(t *testing.T) {
	const depth = 20_000
	deep := inspect.Node{Name: "a", ID: depth}
	for id := range depth - 1 {
		deep = inspect.Node{Name: "a", ID: uint32(depth - 1 - id), Tasks: []inspect.Node{deep}}
	}
	h := live.HandlerOf(live.Config{}, func() []inspect.Node { return []inspect.Node{deep} })
	s := snapshot(t, h, "&max=1000000")
	n, levels := s.Trees[0], 1
	for len(n.Tasks) > 0 {
		n, levels = n.Tasks[0], levels+1
	}
	if levels != 1000 || n.More != depth-1000 || s.Tasks != depth {
		t.Errorf("got %d levels and %d more, of %d tasks", levels, n.More, s.Tasks)
	}
	if w := ask(t, h, local("GET", fmt.Sprintf("/?task=%d", depth), "")); w.Code != http.StatusOK {
		t.Errorf("the deepest task: status %d: %s", w.Code, w.Body)
	}
}

// leveled counts the tasks of each level, and returns the number of all tasks, including those in More.
func leveled(trees []inspect.Node, level int, levels *[]int) (total int) {
	for _, n := range trees {
		if level == len(*levels) {
			*levels = append(*levels, 0)
		}
		(*levels)[level]++
		total += 1 + n.More + leveled(n.Tasks, level+1, levels)
	}
	return total
}

// For any trees: max tasks are listed if there are as many, shallow tasks first, and none is lost.
func TestMaxLaw(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var grow func(depth int) []inspect.Node
		grow = func(depth int) (nodes []inspect.Node) {
			for range rapid.IntRange(0, 6-depth).Draw(r, "width") {
				n := inspect.Node{Name: "a", More: rapid.SampledFrom([]int{0, 0, 0, 5}).Draw(r, "more"), Tasks: grow(depth + 1)}
				nodes = append(nodes, n)
			}
			return nodes
		}
		trees := grow(0)
		before := outline(trees)
		limit := rapid.IntRange(1, 60).Draw(r, "max")
		s := snapshot(t, live.HandlerOf(live.Config{}, func() []inspect.Node { return trees }), fmt.Sprintf("&max=%d", limit))

		var has, want []int
		total := leveled(trees, 0, &has)
		for space, level := limit, 0; space > 0 && level < len(has); level++ {
			want = append(want, min(space, has[level]))
			space -= want[level]
		}
		var got []int
		listed := leveled(s.Trees, 0, &got)
		if !slices.Equal(got, want) {
			r.Fatalf("max=%d: levels of %d tasks, want %d, of %d", limit, got, want, has)
		}
		if s.Tasks != total || listed > total || listed < total && len(s.Trees) == len(trees) {
			r.Fatalf("max=%d: %d tasks told, %d counted in the answer, want %d", limit, s.Tasks, listed, total)
		}
		if after := outline(trees); after != before {
			r.Fatalf("the trees that were looked at have changed: %s, before: %s", after, before)
		}
	})
}
