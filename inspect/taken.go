package inspect

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// describe returns how much of s is acquired, where it was created, and which tasks acquired it, if all of them are known.
func (r *runners) describe(s *scope.Sem) string {
	now := s.State()
	text := strconv.Itoa(now.InUse) + " of " + strconv.Itoa(now.Size) + " held"
	if now.Made != 0 {
		f := at(now.Made)
		text += fmt.Sprintf(", made at %s:%d", filepath.Base(f.File), f.Line)
	}
	var paths []string
	for _, h := range now.Holders.List {
		path := r.pathOf(h.Set)
		if path == "" {
			return text
		}
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		return text
	}
	slices.Sort(paths)
	if more := len(paths) - mostTakers; more > 0 {
		paths = append(paths[:mostTakers], strconv.Itoa(more)+" more")
	}
	text += takenBy + strings.Join(paths[:len(paths)-1], ", ")
	if len(paths) > 1 {
		text += " and "
	}
	return text + paths[len(paths)-1]
}

// takenBy precedes, in a description, the tasks that acquired a semaphore.
const takenBy = ", taken by "

// mostTakers is how many of these tasks are named.
const mostTakers = 3
