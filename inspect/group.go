package inspect

import (
	"hash/maphash"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// minGroup is the minimum number of similar siblings that become one Node.
const minGroup = 3

// Grouped returns a copy of the tree in which one Node stands for three or more siblings that are alike: they have the same kind and state, and
// names that differ only in words with digits, they wait for the same thing at the same place, and the trees below them are alike. Such a Node
// has the siblings in Group. Its name consists of their first and last names; its Age is that of the oldest, its Wait.Seen and Wait.Snapshots
// are the longest, its Wait.Until is the soonest, and its Tasks are all tasks that run below them, grouped again. It has no ID and cannot be
// canceled; its members can. [Node.String] and the commands show trees grouped. To group the results of [Trees], put them into a Node:
// Node{Tasks: Trees()}.Grouped().Tasks.
func (n Node) Grouped() Node {
	g := grouper{seed: maphash.MakeSeed(), likes: make(map[*Node]likeness)}
	n.Tasks = g.group(n.Tasks)
	return n
}

type grouper struct {
	seed  maphash.Seed
	likes map[*Node]likeness // of the Nodes of the tree, computed when they are first needed
}

// A likeness is equal for tasks that are alike.
type likeness struct {
	kind, state, name string
	wait              Wait // without its times
	ends              bool // the wait ends at a known time
	below             uint64
}

// group merges siblings that are alike into one Node, at the place of the first.
func (g *grouper) group(siblings []Node) []Node {
	members := make(map[likeness][]int)
	for i := range siblings {
		l := g.like(&siblings[i])
		members[l] = append(members[l], i)
	}
	var list []Node
	for i, n := range siblings {
		alike := members[g.like(&siblings[i])]
		switch {
		case len(alike) < minGroup || n.Group != nil:
			n.Tasks = g.group(n.Tasks)
			list = append(list, n)
		case alike[0] == i:
			list = append(list, g.merge(siblings, alike))
		}
	}
	return list
}

// merge returns one Node for the siblings at these indexes.
func (g *grouper) merge(siblings []Node, alike []int) Node {
	first, last := siblings[alike[0]], siblings[alike[len(alike)-1]]
	n := Node{Name: first.Name, Path: first.Path, Kind: first.Kind, State: first.State, Wait: first.Wait}
	if last.Name != first.Name {
		n.Name += " … " + last.Name
		n.Path += " … " + last.Name
	}
	for _, i := range alike {
		k := siblings[i]
		n.Group = append(n.Group, k)
		n.Tasks = append(n.Tasks, k.Tasks...)
		n.More += k.More
		n.Age = max(n.Age, k.Age)
		n.Wait.Seen = max(n.Wait.Seen, k.Wait.Seen)
		n.Wait.Snapshots = max(n.Wait.Snapshots, k.Wait.Snapshots)
		if k.Wait.Until.Before(n.Wait.Until) {
			n.Wait.Until = k.Wait.Until
		}
		switch {
		case k.Wait.On == n.Wait.On, "…"+k.below() == n.Wait.On:
		case k.below() != "" && k.below() == first.below():
			n.Wait.On = "…" + k.below()
		default:
			n.Wait.On = ""
		}
	}
	n.Tasks = g.group(n.Tasks)
	return n
}

// like returns the likeness of a task.
func (g *grouper) like(n *Node) likeness {
	l, known := g.likes[n]
	if known {
		return l
	}
	l = likeness{kind: n.Kind, state: n.State, name: withoutNumbers(n.Name), wait: n.Wait, ends: !n.Wait.Until.IsZero()}
	l.wait.Until, l.wait.Seen, l.wait.Snapshots = time.Time{}, 0, 0
	if path := n.below(); path != "" {
		l.wait.On = withoutNumbers(path)
	}
	var below []uint64
	for i := range n.Tasks {
		below = append(below, maphash.Comparable(g.seed, g.like(&n.Tasks[i])))
	}
	slices.Sort(below)
	for _, hash := range slices.Compact(below) {
		l.below = maphash.Comparable(g.seed, [2]uint64{l.below, hash})
	}
	g.likes[n] = l
	return l
}

// below returns the path, relative to n, of the task below n that n waits for. It is empty if n waits for no such task.
func (n *Node) below() string {
	if path, ok := strings.CutPrefix(n.Wait.On, n.Path+"/"); ok {
		return "/" + path
	}
	return ""
}

// withoutNumbers replaces each word that contains a digit by a single 0.
func withoutNumbers(name string) string {
	var b strings.Builder
	word := 0 // the index at which the word begins
	put := func(end int) {
		if text := name[word:end]; strings.ContainsFunc(text, unicode.IsDigit) {
			b.WriteByte('0')
		} else {
			b.WriteString(text)
		}
	}
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			put(i)
			b.WriteString(name[i : i+size])
			word = i + size
		}
		i += size
	}
	put(len(name))
	return b.String()
}
