package httprequest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Statuses are ranges of HTTP statuses. An empty list means 200 to 299.
type Statuses []StatusRange

// A StatusRange is the statuses from From to To. In JSON it is a number, such as 204, or a range, such as "200-299".
type StatusRange struct{ From, To int }

// Has reports whether the status is among them.
func (s Statuses) Has(status int) bool {
	if len(s) == 0 {
		return status >= 200 && status <= 299
	}
	return s.names(status)
}

// names reports whether a range has the status.
func (s Statuses) names(status int) bool {
	return slices.ContainsFunc(s, func(r StatusRange) bool { return r.From <= status && status <= r.To })
}

// MarshalJSON writes the range as UnmarshalJSON reads it.
func (r StatusRange) MarshalJSON() ([]byte, error) {
	if r.From == r.To {
		return json.Marshal(r.From)
	}
	return json.Marshal(fmt.Sprintf("%d-%d", r.From, r.To))
}

// UnmarshalJSON reads a number or a text with a number or a range.
func (r *StatusRange) UnmarshalJSON(text []byte) error {
	wrong := fmt.Errorf(`%.30s is not a status: give one such as 204, or a range such as "200-299"`, text)
	if len(text) > 1 && text[0] == '"' {
		text = text[1 : len(text)-1]
	}
	from, to, isRange := strings.Cut(string(text), "-")
	if !isRange {
		to = from
	}
	var err, toErr error
	r.From, err = strconv.Atoi(from)
	r.To, toErr = strconv.Atoi(to)
	if err != nil || toErr != nil {
		return wrong
	}
	return nil
}

func (s Statuses) check() error {
	for _, r := range s {
		if r.From < 200 || r.To > 599 || r.From > r.To {
			return fmt.Errorf(`"expect": %d to %d: give statuses from 200 to 599, the smaller first`, r.From, r.To)
		}
	}
	return nil
}
