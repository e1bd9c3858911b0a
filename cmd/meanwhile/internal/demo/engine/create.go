package engine

import (
	"net/http"
	"regexp"
	"slices"
)

const (
	mostFields = 8   // fields that are searched; schema.sql has as many columns
	mostName   = 100 // bytes in the name of an index or a field
)

var (
	indexName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)
	fieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
)

// mappings are the body of a request that creates an index.
type mappings struct {
	Mappings struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	} `json:"mappings"`
}

func (e *Engine) createIndex(r *http.Request) (answer, error) {
	name := r.PathValue("index")
	if len(name) > mostName || !indexName.MatchString(name) {
		return answer{}, refuse(http.StatusBadRequest, "invalid_index_name_exception", "Invalid index name [%.100s]: give up to 100 of a-z, 0-9, _ and -", name)
	}
	text, err := readBody(r)
	if err != nil {
		return answer{}, err
	}
	var m mappings
	if len(text) > 0 {
		if err := decode(text, &m); err != nil {
			return answer{}, err
		}
	}
	fields, err := m.fields()
	if err != nil {
		return answer{}, err
	}
	if err := e.add(name, fields); err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, map[string]any{"acknowledged": true, "shards_acknowledged": true, "index": name}}, nil
}

// fields returns the searched fields, sorted by name.
func (m *mappings) fields() ([]string, error) {
	var fields []string
	for name, property := range m.Mappings.Properties {
		switch {
		case len(name) > mostName || !fieldName.MatchString(name):
			return nil, refuse(http.StatusBadRequest, "mapper_parsing_exception", "field name [%.100s]: give up to 100 letters, digits and _", name)
		case property.Type != "text":
			return nil, refuse(http.StatusBadRequest, "mapper_parsing_exception", "type [%.100s] of field [%s]: there is only [text]; other fields are kept and need no mapping", property.Type, name)
		}
		fields = append(fields, name)
	}
	if len(fields) > mostFields {
		return nil, refuse(http.StatusBadRequest, "mapper_parsing_exception", "[%d] fields to search: give [%d] at most", len(fields), mostFields)
	}
	slices.Sort(fields)
	return fields, nil
}

func (e *Engine) deleteIndex(r *http.Request) (answer, error) {
	if err := e.remove(r.PathValue("index")); err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, map[string]any{"acknowledged": true}}, nil
}

func (e *Engine) count(r *http.Request) (answer, error) {
	x, err := e.index(r.PathValue("index"))
	if err != nil {
		return answer{}, err
	}
	n, err := x.count(r.Context())
	if err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, map[string]any{"count": n}}, nil
}
