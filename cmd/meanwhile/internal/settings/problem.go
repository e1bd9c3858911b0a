package settings

import (
	"errors"
	"fmt"
)

// A problem is an error in a line of a file.
type problem struct {
	line int
	err  error
}

func (p *problem) Error() string { return fmt.Sprintf("line %d: %v", p.line, p.err) }
func (p *problem) Unwrap() error { return p.err }

// At returns err, or each of the errors that it joins, with the line of a file. An error that has a line keeps it. If what is not
// empty, it stands before each of them.
func At(line int, what string, err error) error {
	var all []error
	for _, p := range problems(line, err) {
		if what != "" {
			p.err = fmt.Errorf("%s: %w", what, p.err)
		}
		all = append(all, p)
	}
	return errors.Join(all...)
}

// problems returns the errors that err joins, at any depth.
func problems(line int, err error) (all []*problem) {
	switch e := err.(type) {
	case nil:
	case *problem:
		all = append(all, &problem{e.line, e.err})
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, problems(line, one)...)
		}
	default:
		all = append(all, &problem{line, err})
	}
	return all
}
