package jsontext

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"math"
	"strconv"
	"time"
)

// AppendValue appends the value of an attribute: durations as Go formats them, times in RFC 3339, a json.RawMessage unchanged, and a number that is
// not an integer with a point or an exponent.
func AppendValue(b []byte, value slog.Value) []byte {
	switch value.Kind() {
	case slog.KindInt64:
		return strconv.AppendInt(b, value.Int64(), 10)
	case slog.KindUint64:
		return strconv.AppendUint(b, value.Uint64(), 10)
	case slog.KindBool:
		return strconv.AppendBool(b, value.Bool())
	case slog.KindFloat64:
		return AppendFloat(b, value.Float64())
	case slog.KindTime:
		return AppendString(b, value.Time().UTC().Format(time.RFC3339Nano))
	case slog.KindAny:
		if raw, ok := value.Any().(json.RawMessage); ok {
			return AppendRaw(b, raw)
		}
	}
	return AppendString(b, value.String())
}

// AppendFloat appends a number with a point or an exponent; infinities and NaN, which JSON does not have, as text.
func AppendFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(strconv.AppendFloat(append(b, '"'), f, 'g', -1, 64), '"')
	}
	n := len(b)
	format := byte('g')
	if size := math.Abs(f); size == 0 || size >= 1e-6 && size < 1e21 {
		format = 'f'
	}
	if b = strconv.AppendFloat(b, f, format, -1, 64); !bytes.ContainsAny(b[n:], ".e") {
		b = append(b, ".0"...)
	}
	return b
}
