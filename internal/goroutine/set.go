package goroutine

import (
	"context"
	"reflect"
	"runtime/pprof"
	"unsafe"
)

// A Label is a key and a value, laid out as runtime/pprof has them.
type Label struct{ Key, Value string }

// A Set is a profiler label set. Its address identifies the task that created it, so each task has its own set, which is never reused. It must not
// point to the task: goroutines that inherit the set would keep the task from being collected, and what the task can reach from counting as leaked.
type Set struct {
	list []Label // sorted by key, as runtime/pprof wants it
}

// NewSet returns a set with its own address.
func NewSet(list []Label) *Set {
	s := new(Set)
	s.Fill(list)
	return s
}

// Fill sets the labels of a new set. The list, sorted by key, is shared and must not be changed.
func (s *Set) Fill(list []Label) { s.list = list }

// Labels returns the labels of a set.
func (s *Set) Labels() []Label { return s.list }

// Key is the key with which runtime/pprof asks a context for its labels.
var Key = func() any {
	p := keyProbe{key: new(byte)} // a key that no other context has, in case runtime/pprof does not ask
	_, _ = pprof.Label(&p, "")
	return p.key
}()

// keyProbe is a context that remembers the key that it was asked for.
type keyProbe struct {
	context.Context
	key any
}

func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}

// valueType is the type of runtime/pprof's pointer to a label set, the value that contexts have for [Key].
var valueType = reflect.TypeOf(pprof.WithLabels(context.Background(), pprof.Labels("a", "b")).Value(Key))

// Exact reports whether goroutines can be identified by their label sets, as far as that is known without a snapshot. It never changes while the
// program runs.
var Exact = linked && knownLayout()

// knownLayout reports whether a Set is laid out as runtime/pprof's own.
func knownLayout() bool {
	value := pprof.WithLabels(context.Background(), pprof.Labels("a", "b")).Value(Key)
	if valueType == nil || valueType.Kind() != reflect.Pointer || !sameLayout(valueType.Elem(), reflect.TypeFor[Set]()) {
		return false
	}
	set := (*Set)(reflect.ValueOf(value).UnsafePointer())
	return len(set.list) == 1 && set.list[0] == (Label{"a", "b"})
}

// sameLayout compares two types in memory. A struct of one field is laid out as its field.
func sameLayout(a, b reflect.Type) bool {
	a, b = innermost(a), innermost(b)
	if a.Kind() != b.Kind() || a.Size() != b.Size() {
		return false
	}
	switch a.Kind() {
	case reflect.Struct:
		if a.NumField() != b.NumField() {
			return false
		}
		for i := range a.NumField() {
			if a.Field(i).Offset != b.Field(i).Offset || !sameLayout(a.Field(i).Type, b.Field(i).Type) {
				return false
			}
		}
		return true
	case reflect.Slice:
		return sameLayout(a.Elem(), b.Elem())
	case reflect.String:
		return true
	}
	return false
}

func innermost(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Struct && t.NumField() == 1 {
		t = t.Field(0).Type
	}
	return t
}

// Value returns the set as a context answers [Key] with it, so that pprof.Do in a task adds to the task's labels and
// restores the set itself afterwards. It may be called only where [Exact] is true.
func (s *Set) Value() any { return reflect.NewAt(valueType.Elem(), unsafe.Pointer(s)).Interface() }

// ValueOf returns what identifies the labels of ctx: its value for [Key], or nil if there is none, or it is not of runtime/pprof's type.
func ValueOf(ctx context.Context) any {
	value := ctx.Value(Key)
	if value == nil || reflect.TypeOf(value) != valueType {
		return nil
	}
	return value
}

// LabelsOf returns the labels that [ValueOf] identified, sorted by key, in a new list. It calls no method of a user's context.
func LabelsOf(value any) []Label {
	var list []Label
	pprof.ForLabels(valueContext{context.Background(), value}, func(key, value string) bool {
		list = append(list, Label{key, value})
		return true
	})
	return list
}

// valueContext is a context that has only labels.
type valueContext struct {
	context.Context
	labels any
}

func (c valueContext) Value(key any) any {
	if key == Key {
		return c.labels
	}
	return nil
}

// An Address is the address of a goroutine's label set; the zero value stands for no set. Two addresses are equal if they are of the same set. An
// address keeps the set from being collected.
type Address struct{ set unsafe.Pointer }

// Address returns the address of s.
func (s *Set) Address() Address { return Address{unsafe.Pointer(s)} }
