package job

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/jsonscan"
)

// encodedOptions is the form in which Options are stored. Nothing in it but Meta has a string as the value of a name, see [Filter.MetaTexts]. Cost
// is the first field, LimitKey the last, and MetaID the first key of Meta: the store on PostgreSQL reads them there. Options are written, and mostly read, without encoding/json,
// since that is done for every job that has any.
type encodedOptions struct {
	Cost     int               `json:"cost,omitempty"`
	Timeout  time.Duration     `json:"timeout,omitempty"`
	Meta     map[string]string `json:"meta,omitempty"`
	LimitKey []string          `json:"limit_key,omitempty"` // one, or none
}

// EncodeOptions returns the options as a store keeps them: JSON, or nil for none. The limit key is the first element of limit_key, and
// the cost is the number cost.
func (j *Job) EncodeOptions() []byte {
	if j.Timeout == 0 && len(j.Meta) == 0 && j.LimitKey == "" && j.Cost == 0 {
		return nil
	}
	b := append(make([]byte, 0, 64), '{')
	if j.Cost != 0 {
		b = append(strconv.AppendInt(append(b, `"cost":`...), int64(j.Cost), 10), ',')
	}
	if j.Timeout != 0 {
		b = append(strconv.AppendInt(append(b, `"timeout":`...), int64(j.Timeout), 10), ',')
	}
	if len(j.Meta) > 0 {
		b = append(b, `"meta":{`...)
		if id, ok := j.Meta[MetaID]; ok {
			b = append(appendEntry(b, MetaID, id), ',')
		}
		for _, key := range slices.Sorted(maps.Keys(j.Meta)) {
			if key != MetaID {
				b = append(appendEntry(b, key, j.Meta[key]), ',')
			}
		}
		b[len(b)-1] = '}'
		b = append(b, ',')
	}
	if j.LimitKey != "" {
		b = append(appendText(append(b, `"limit_key":[`...), j.LimitKey), ']', ',')
	}
	b[len(b)-1] = '}'
	return b
}

// appendEntry appends an entry of Meta. It escapes the first character of a key if that may follow the end of a text in JSON: after a { or a comma, such
// an entry could otherwise also be read from the end of another text on, see [Filter.MetaTexts].
func appendEntry(b []byte, key, value string) []byte {
	if key != "" && strings.Contains(":,}]", key[:1]) {
		b = append(fmt.Appendf(b, `"\u%04x`, key[0]), appendText(nil, key[1:])[1:]...)
	} else {
		b = appendText(b, key)
	}
	return appendText(append(b, ':'), value)
}

// appendText appends a text as encoding/json writes it.
func appendText(b []byte, text string) []byte {
	if !isPlain(text) {
		encoded, _ := json.Marshal(text) // which has no error for a string
		return append(b, encoded...)
	}
	return append(append(append(b, '"'), text...), '"')
}

// isPlain reports whether encoding/json writes a text as it is.
func isPlain[T string | []byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// DecodeOptions sets the options from what EncodeOptions returned.
func (j *Job) DecodeOptions(text []byte) error {
	j.Options = Options{}
	if len(text) == 0 {
		return nil
	}
	var o encodedOptions
	if !o.scan(text) {
		o = encodedOptions{}
		if err := json.Unmarshal(text, &o); err != nil {
			return err
		}
	}
	j.Timeout, j.Meta, j.Cost = o.Timeout, o.Meta, o.Cost
	if len(o.LimitKey) > 0 {
		j.LimitKey = o.LimitKey[0]
	}
	return nil
}

// scan reads options as EncodeOptions writes them if all texts are plain. It reports false for all others, which encoding/json must read.
func (o *encodedOptions) scan(text []byte) bool {
	s := jsonscan.New(text)
	if !s.Take('{') {
		return false
	}
	for ok := true; ok; {
		switch {
		case s.Word(`"cost":`):
			o.Cost, ok = scanInteger[int](&s)
		case s.Word(`"timeout":`):
			o.Timeout, ok = scanInteger[time.Duration](&s)
		case o.Meta == nil && s.Word(`"meta":{`):
			o.Meta = map[string]string{}
			ok = o.scanMeta(&s)
		case s.Word(`"limit_key":[`):
			var key string
			key, ok = scanText(&s)
			o.LimitKey = []string{key}
			ok = ok && s.Take(']')
		default:
			return false
		}
		if ok && s.Take('}') {
			return s.AtEnd()
		}
		ok = ok && s.Take(',')
	}
	return false
}

func (o *encodedOptions) scanMeta(s *jsonscan.Scanner) bool {
	for {
		key, ok := scanText(s)
		if !ok || !s.Take(':') {
			return false
		}
		value, ok := scanText(s)
		if !ok {
			return false
		}
		if o.Meta[key] = value; s.Take('}') {
			return true
		}
		if !s.Take(',') {
			return false
		}
	}
}

func scanText(s *jsonscan.Scanner) (text string, ok bool) {
	raw, _, err := s.String()
	return string(raw), err == nil && isPlain(raw)
}

func scanInteger[N ~int | ~int64](s *jsonscan.Scanner) (N, bool) {
	n, err := strconv.ParseInt(string(s.Number()), 10, 64)
	return N(n), err == nil && int64(N(n)) == n
}
