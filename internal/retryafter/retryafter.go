// Package retryafter reads the Retry-After header of HTTP answers (RFC 9110, section 10.2.3). It imports the standard library only.
package retryafter

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// Most is the longest delay that [Parse] returns. Longer delays and later dates are shortened to it.
const Most = 100 * 365 * 24 * time.Hour

// Parse returns the delay from now on that the value of a Retry-After header asks for, in seconds or as a date. A date that has passed is a
// delay of zero. It returns false for a value that is neither, such as the empty value of a missing header.
func Parse(value string, now time.Time) (time.Duration, bool) {
	seconds, err := strconv.ParseUint(value, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) { // for a value out of range, seconds is the largest number
		return time.Duration(min(seconds, uint64(Most/time.Second))) * time.Second, true
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(0, date.Sub(now)), Most), true
}
