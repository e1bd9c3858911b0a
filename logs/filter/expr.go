package filter

import (
	"math"

	"github.com/meanwhile-go/meanwhile/logs"
)

// An expr is a part of a filter. Only terms are negated: negate moves a not down to them, so that each part can report what its matching
// records have in common.
type expr interface {
	match(v *logs.View) bool
	service(name string) bool               // whether a record of that service can match
	tokens(have []uint64) []uint64          // adds tokens that every matching record has
	bounds(of field) (lo, hi int64)         // of the values that a matching record can have
	negate() expr                           // matches all other records
	among(c Columns, of Rows) (Rows, error) // the matching records of a block
}

// allOf matches what all of its parts match.
type allOf []expr

func (all allOf) match(v *logs.View) bool {
	for _, e := range all {
		if !e.match(v) {
			return false
		}
	}
	return true
}

func (all allOf) service(name string) bool {
	for _, e := range all {
		if !e.service(name) {
			return false
		}
	}
	return true
}

func (all allOf) tokens(have []uint64) []uint64 {
	for _, e := range all {
		have = e.tokens(have)
	}
	return have
}

func (all allOf) bounds(of field) (lo, hi int64) {
	lo, hi = math.MinInt64, math.MaxInt64
	for _, e := range all {
		low, high := e.bounds(of)
		lo, hi = max(lo, low), min(hi, high)
	}
	return lo, hi
}

func (all allOf) negate() expr {
	some := make(anyOf, len(all))
	for i, e := range all {
		some[i] = e.negate()
	}
	return some
}

// anyOf matches what one of its parts matches.
type anyOf []expr

func (some anyOf) match(v *logs.View) bool {
	for _, e := range some {
		if e.match(v) {
			return true
		}
	}
	return false
}

func (some anyOf) service(name string) bool {
	for _, e := range some {
		if e.service(name) {
			return true
		}
	}
	return false
}

func (some anyOf) tokens(have []uint64) []uint64 { return have }

func (some anyOf) bounds(of field) (lo, hi int64) {
	lo, hi = math.MaxInt64, math.MinInt64
	for _, e := range some {
		if low, high := e.bounds(of); low <= high {
			lo, hi = min(lo, low), max(hi, high)
		}
	}
	return lo, hi
}

func (some anyOf) negate() expr {
	all := make(allOf, len(some))
	for i, e := range some {
		all[i] = e.negate()
	}
	return all
}

// A term is an expr that has no parts.
type term interface {
	expr
	decided(service string) (match, known bool) // whether the service alone decides, and how
}

// notTerm matches what its term does not.
type notTerm struct{ term }

func (n notTerm) match(v *logs.View) bool { return !n.term.match(v) }

func (n notTerm) service(name string) bool {
	match, known := n.decided(name)
	return !known || !match
}

func (n notTerm) tokens(have []uint64) []uint64 { return have }

func (n notTerm) bounds(of field) (lo, hi int64) {
	lo, hi = math.MinInt64, math.MaxInt64
	if b, ok := n.term.(*between); ok && b.field == of && b.lo <= b.hi {
		if b.lo == lo {
			if b.hi == hi {
				return hi, lo
			}
			lo = b.hi + 1
		} else if b.hi == hi {
			hi = b.lo - 1
		}
	}
	return lo, hi
}

func (n notTerm) negate() expr { return n.term }

// anywhere has the methods of a term that knows only whether a record matches, and no service, tokens or bounds.
type anywhere struct{}

func (anywhere) service(string) bool                { return true }
func (anywhere) decided(string) (match, known bool) { return false, false }
func (anywhere) tokens(have []uint64) []uint64      { return have }
func (anywhere) bounds(field) (lo, hi int64)        { return math.MinInt64, math.MaxInt64 }
