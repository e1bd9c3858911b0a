package engine

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// A query is a search in the syntax of SQLite.
type query struct {
	match   string // an expression of FTS5; empty for all documents
	weights [mostFields]float64
	nothing bool // no document can match
}

// parseQuery parses the value of "query" in a search.
func (x *index) parseQuery(text json.RawMessage) (query, error) {
	if len(text) == 0 {
		return query{}, nil
	}
	var kinds map[string]json.RawMessage
	if json.Unmarshal(text, &kinds) != nil || len(kinds) != 1 {
		return query{}, malformed("[query] is an object with one field, such as {\"match\":{\"text\":\"timeout\"}}")
	}
	for kind, body := range kinds {
		switch kind {
		case "match_all":
			return query{}, nil
		case "match":
			return x.parseMatch(body)
		case "multi_match":
			return x.parseMultiMatch(body)
		case "simple_query_string":
			return x.parseSimple(body)
		default:
			return query{}, malformed("unknown query [%.50s]: there are match_all, match, multi_match and simple_query_string", kind)
		}
	}
	panic("not reached: there is one")
}

// parseMatch parses {"text":"some words"} or {"text":{"query":"some words","operator":"and"}}.
func (x *index) parseMatch(body []byte) (query, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || len(fields) != 1 {
		return query{}, malformed("[match] is an object with one field")
	}
	for field, text := range fields {
		var q struct {
			Query    string `json:"query"`
			Operator string `json:"operator"`
		}
		if json.Unmarshal(text, &q.Query) != nil {
			if err := decode(text, &q); err != nil {
				return query{}, err
			}
		}
		return x.anyWords(q.Query, q.Operator, []string{field})
	}
	panic("not reached: there is one")
}

// parseMultiMatch parses {"query":"some words","fields":["symbol^3","text"]}.
func (x *index) parseMultiMatch(body []byte) (query, error) {
	var q struct {
		Query    string   `json:"query"`
		Fields   []string `json:"fields"`
		Operator string   `json:"operator"`
	}
	if err := decode(body, &q); err != nil {
		return query{}, err
	}
	return x.anyWords(q.Query, q.Operator, q.Fields)
}

// parseSimple parses {"query":"a +b -c \"d e\"","fields":["text"]}.
func (x *index) parseSimple(body []byte) (query, error) {
	var q struct {
		Query    string   `json:"query"`
		Fields   []string `json:"fields"`
		Operator string   `json:"default_operator"`
	}
	if err := decode(body, &q); err != nil {
		return query{}, err
	}
	operator, err := readOperator(q.Operator)
	if err != nil {
		return query{}, err
	}
	expression, err := simple(q.Query, operator)
	if err != nil {
		return query{}, err
	}
	return x.in(expression, q.Fields)
}

// anyWords returns a query for the words of a text, ignoring all other characters.
func (x *index) anyWords(text, operator string, fields []string) (query, error) {
	between, err := readOperator(operator)
	if err != nil {
		return query{}, err
	}
	if err := checkLength(text); err != nil {
		return query{}, err
	}
	words := strings.Fields(text)
	words = slices.DeleteFunc(words, func(w string) bool { return plain(w) == "" })
	for i, w := range words {
		words[i] = quoted(w)
	}
	return x.in(strings.Join(words, between), fields)
}

// in returns a query that searches for an expression in these fields, each with an optional weight after ^, or in all fields if
// none is named. Fields that are not indexed match nothing.
func (x *index) in(expression string, fields []string) (query, error) {
	if len(fields) == 0 || slices.Equal(fields, []string{"*"}) {
		fields = x.fields
	}
	var q query
	var columns []string
	for _, field := range fields {
		name, boost, isBoosted := strings.Cut(field, "^")
		weight := 1.0
		if isBoosted {
			var err error
			if weight, err = strconv.ParseFloat(boost, 64); err != nil || !(weight >= 0 && weight <= 1e6) {
				return query{}, malformed("field [%.100s]: give a weight from 0 to 1000000 after ^", field)
			}
		}
		if i := slices.Index(x.fields, name); i >= 0 {
			columns = append(columns, "c"+strconv.Itoa(i+1))
			q.weights[i] = weight
		}
	}
	if len(columns) == 0 || expression == "" {
		return query{nothing: true}, nil
	}
	slices.Sort(columns)
	q.match = "{" + strings.Join(slices.Compact(columns), " ") + "} : (" + expression + ")"
	return q, nil
}

func readOperator(text string) (string, error) {
	switch strings.ToLower(text) {
	case "", "or":
		return " OR ", nil
	case "and":
		return " AND ", nil
	}
	return "", malformed("operator [%.20s]: give [or] or [and]", text)
}
