package fetch

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// limit is the value of a flag such as 64 or auto.
type limit struct {
	n    int
	auto bool
}

// UnmarshalText parses the value.
func (l *limit) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*l = limit{auto: true}
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > 1_000_000 {
		return fmt.Errorf("%q is neither a number from 1 to 1000000 nor auto", text)
	}
	*l = limit{n: n}
	return nil
}

// path is the value of a flag with the name of a file or folder. It must not be empty: a script with an unset variable would save nothing.
type path string

// UnmarshalText parses the value.
func (p *path) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("it is empty: give a name, or leave the flag out")
	}
	*p = path(text)
	return nil
}

// seconds is the value of a flag such as 30, 1.5 or 1m30s.
type seconds time.Duration

// UnmarshalText parses the value.
func (s *seconds) UnmarshalText(text []byte) error {
	if n, err := strconv.ParseFloat(string(text), 64); err == nil && n >= 0 && n < math.MaxInt64/1e9 {
		*s = seconds(n * float64(time.Second))
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a time: give seconds, or a duration such as 1m30s", text)
	}
	*s = seconds(d)
	return nil
}

// size is the value of a flag such as 1000, 64k or 2GiB.
type size int64

// UnmarshalText parses the value.
func (s *size) UnmarshalText(text []byte) error {
	number := strings.ToLower(string(text))
	number = strings.TrimSuffix(strings.TrimSuffix(number, "b"), "i")
	shift := 0
	if last := len(number) - 1; last > 0 {
		if i := strings.IndexByte("kmg", number[last]); i >= 0 {
			shift, number = 10*(i+1), number[:last]
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64>>(shift+1) {
		return fmt.Errorf("%q is not a size: give a number of bytes, k, M or G", text)
	}
	*s = size(n << shift)
	return nil
}

// rate is the value of a flag such as 50/s, 100/m, 1000/h or 50, which is per second.
type rate struct {
	n   int
	per time.Duration
}

// UnmarshalText parses the value.
func (r *rate) UnmarshalText(text []byte) error {
	number, unit, _ := strings.Cut(string(text), "/")
	per, ok := map[string]time.Duration{"": time.Second, "s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || !ok {
		return fmt.Errorf("%q is not a rate: give one such as 50/s, 100/m or 1000/h", text)
	}
	*r = rate{n, per}
	return nil
}

// pacer returns a pacer for the rate, or nil for no limit.
func (r rate) pacer() *meanwhile.Pacer {
	if r.n == 0 {
		return nil
	}
	return meanwhile.Rate(r.n, r.per)
}
