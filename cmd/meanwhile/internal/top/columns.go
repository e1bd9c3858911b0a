package top

const (
	gap       = 2
	spanWidth = 6 // of an age column
)

// columns are the widths of the columns; 0 means that a column is not shown.
type columns struct {
	name, age, waits, since, location int
}

// The headings of the columns.
const (
	taskHead  = "TASK"
	ageHead   = "AGE"
	waitsHead = "WAITS FOR"
	sinceHead = "SINCE"
	placeHead = "WHERE"
)

// needs is the width that the texts of the table would need. It only grows, so that the columns do not move with each snapshot.
type needs struct{ name, waits, location int }

// widen adds the widths of a row.
func (n *needs) widen(name, waits, place int) {
	n.name = max(n.name, name, len(taskHead))
	n.waits = max(n.waits, waits, len(waitsHead))
	n.location = max(n.location, place)
}

// divide returns the widths of the columns. On a narrow screen the last columns are omitted.
func (n needs) divide(width int) columns {
	width-- // for the mark of the selection
	c := columns{age: spanWidth, since: spanWidth}
	place := n.location
	switch {
	case width < 55:
		c.since, place = 0, 0
	case width < 71:
		place = 0
	}
	space := width - c.age - 2*gap
	if c.since > 0 {
		space -= c.since + gap
	}
	if place == 0 {
		c.name, c.waits = share(space, n.name, n.waits, 3, 2)
		return c
	}
	space -= gap
	var rest int
	c.name, rest = share(space, n.name, n.waits+place, 2, 3)
	c.waits, c.location = share(rest, n.waits, place, 1, 1)
	return c
}

// share divides space between two columns: each gets what it needs, or else a part in proportion to its weight.
func share(space, needA, needB, weightA, weightB int) (a, b int) {
	part := space * weightA / (weightA + weightB)
	switch {
	case needA+needB <= space, needA <= part:
		a = needA
	case needB <= space-part:
		a = space - needB
	default:
		a = part
	}
	return a, space - a
}

// header returns the heading line.
func (c columns) header() string {
	return " " + c.line(pad(taskHead, c.name), ageHead, pad(waitsHead, c.waits), sinceHead, pad(placeHead, c.location))
}

// line joins the cells of a row. Text cells must already have their width, since they may be styled.
func (c columns) line(name, age, waits, since, place string) string {
	line := name + spaces(gap) + padLeft(age, c.age) + spaces(gap) + waits
	if c.since > 0 {
		line += spaces(gap) + padLeft(since, c.since)
	}
	if c.location > 0 {
		line += spaces(gap) + place
	}
	return line
}
