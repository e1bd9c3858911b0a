package filter

import "slices"

// Looks returns what the filter reads besides the time, the level, the number, the service, the task and the job of a record:
// whether it reads the message, in which words and phrases are searched, and which attributes, by their keys.
func (f Filter) Looks() (message bool, attrs []string) {
	var visit func(expr)
	visit = func(e expr) {
		switch e := e.(type) {
		case allOf:
			for _, part := range e {
				visit(part)
			}
		case anyOf:
			for _, part := range e {
				visit(part)
			}
		case notTerm:
			visit(e.term)
		case *phrase:
			message = true
		case *fieldIs:
			message = message || e.field == fieldMessage
		case *fieldLike:
			message = message || e.field == fieldMessage
		case *attrIs:
			attrs = append(attrs, e.key)
		case *attrHas:
			attrs = append(attrs, e.key)
		case *attrLike:
			attrs = append(attrs, e.key)
		case *attrCompare:
			attrs = append(attrs, e.key)
		}
	}
	visit(f.expr)
	slices.Sort(attrs)
	return message, slices.Compact(attrs)
}
