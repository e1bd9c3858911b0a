package loki

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// A push request has streams in field 1. A stream has its labels as text in field 1 and its entries in field 2; an entry has a
// timestamp of seconds and nanoseconds in field 1, its line in field 2 and its structured metadata in field 3, each with a name
// in field 1 and a value in field 2.

// protobuf adds the records of a push request.
func (in *intake) protobuf(request []byte) error {
	return each(request, func(number protowire.Number, data []byte, _ uint64) error {
		if number == 1 && data != nil {
			return in.streamMessage(data)
		}
		return nil
	})
}

func (in *intake) streamMessage(b []byte) error {
	var text []byte
	err := each(b, func(number protowire.Number, data []byte, _ uint64) error {
		if number == 1 {
			text = data
		}
		return nil
	})
	if err != nil {
		return err
	}
	pairs, err := parseLabels(string(text))
	if err == nil {
		err = in.stream(pairs)
	}
	if err != nil {
		return err
	}
	return each(b, func(number protowire.Number, data []byte, _ uint64) error {
		if number == 2 && data != nil {
			return in.entryMessage(data)
		}
		return nil
	})
}

func (in *intake) entryMessage(b []byte) error {
	var seconds, nanoseconds int64
	var line []byte
	var metadata []pair
	err := each(b, func(number protowire.Number, data []byte, _ uint64) error {
		switch number {
		case 1:
			return each(data, func(number protowire.Number, _ []byte, n uint64) error {
				switch number {
				case 1:
					seconds = int64(n)
				case 2:
					nanoseconds = int64(n)
				}
				return nil
			})
		case 2:
			line = data
		case 3:
			var p pair
			err := each(data, func(number protowire.Number, data []byte, _ uint64) error {
				switch number {
				case 1:
					p.key = string(data)
				case 2:
					p.value = string(data)
				}
				return nil
			})
			if metadata = append(metadata, p); len(metadata) > maxPairs {
				return malformed("an entry has more than %d pairs of structured metadata", maxPairs)
			}
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	const latest = (1<<63-1)/1_000_000_000 - 1 // the last second that fits in 64 bits of nanoseconds
	if seconds < 0 || seconds > latest || nanoseconds < 0 || nanoseconds >= 1e9 {
		return malformed("a timestamp out of range")
	}
	return in.entry(seconds*1e9+nanoseconds, string(line), metadata)
}

// each calls fn for each field of a message, with its bytes or with its integer.
func each(b []byte, fn func(number protowire.Number, data []byte, n uint64) error) error {
	for len(b) > 0 {
		number, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return malformed("no protobuf")
		}
		b = b[size:]
		var data []byte
		var n uint64
		switch kind {
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			data, size = protowire.ConsumeBytes(b)
		default:
			size = protowire.ConsumeFieldValue(number, kind, b)
		}
		if size < 0 {
			return malformed("no protobuf")
		}
		b = b[size:]
		if kind == protowire.VarintType || kind == protowire.BytesType {
			if err := fn(number, data, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// parseLabels reads {name="value", …}, with values quoted as in Go and Prometheus.
func parseLabels(text string) (pairs []pair, err error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "{")
	if !ok {
		return nil, malformed("labels %.100q: they begin with {", text)
	}
	for rest = strings.TrimSpace(rest); rest != "}"; rest = strings.TrimSpace(rest) {
		name, after, ok := strings.Cut(rest, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, malformed("labels %.100q: a name and = at %.40q", text, rest)
		}
		after = strings.TrimSpace(after)
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil {
			return nil, malformed("labels %.100q: a value in quotes at %.40q", text, after)
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, malformed("labels %.100q: a value in quotes at %.40q", text, after)
		}
		if pairs = append(pairs, pair{name, value}); len(pairs) > maxPairs {
			return nil, malformed("a stream has more than %d labels", maxPairs)
		}
		rest = strings.TrimSpace(after[len(quoted):])
		if more, ok := strings.CutPrefix(rest, ","); ok {
			rest = more
		} else if rest != "}" {
			return nil, malformed("labels %.100q: a comma or } at %.40q", text, rest)
		}
	}
	return pairs, nil
}
