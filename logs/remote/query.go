package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// encode returns a query as the parameters of a URL.
func encode(q storage.Query) url.Values {
	v := url.Values{}
	if text := q.Filter.String(); text != "" {
		v.Set("filter", text)
	}
	if !q.Since.IsZero() {
		v.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	if !q.Until.IsZero() {
		v.Set("until", q.Until.UTC().Format(time.RFC3339Nano))
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Newest {
		v.Set("newest", "1")
	}
	if q.After != nil {
		after, err := json.Marshal(q.After)
		if err != nil {
			panic("remote: " + err.Error()) // cannot happen: q.After has only strings and numbers
		}
		v.Set("after", string(after))
	}
	return v
}

// decode reads the parameters that encode writes.
func decode(v url.Values) (q storage.Query, err error) {
	if q.Filter, err = filter.Parse(v.Get("filter")); err != nil {
		return q, err
	}
	for name, at := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if text := v.Get(name); text != "" {
			if *at, err = time.Parse(time.RFC3339Nano, text); err != nil {
				return q, fmt.Errorf("%s: %.40q is not a time such as 2026-05-04T15:04:05Z", name, text)
			}
		}
	}
	if text := v.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 0 {
			return q, fmt.Errorf("limit: %.40q is not a number of records; 0 is all of them", text)
		}
	}
	if q.Newest, err = flag(v, "newest"); err != nil {
		return q, err
	}
	if text := v.Get("after"); text != "" {
		if json.Unmarshal([]byte(text), &q.After) != nil || q.After == nil {
			return q, errors.New(`after: give the last number of each service, as in {"api":17}`)
		}
	}
	return q, nil
}

func flag(v url.Values, name string) (bool, error) {
	text := v.Get(name)
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s: %.40q is neither 1 nor 0", name, text)
	}
	return on, nil
}
