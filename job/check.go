package job

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// checkJob returns an error if a job cannot be inserted. It compacts the args.
func checkJob(j *Job) error {
	if err := checkName("kind", j.Kind); err != nil {
		return err
	}
	what := func(err error) error { return fmt.Errorf("job kind %q: %w", j.Kind, err) }
	if err := checkName("queue", j.Queue); err != nil {
		return what(err)
	}
	if err := checkPriority(j.Priority); err != nil {
		return what(err)
	}
	switch {
	case j.MaxAttempts < 1 || j.MaxAttempts > 1e6:
		return what(fmt.Errorf("%d attempts: give from 1 to a million", j.MaxAttempts))
	case j.UniqueFor < 0 || j.UniqueFor > maxDelay:
		return what(fmt.Errorf("unique for %v: give up to a hundred years", j.UniqueFor))
	case j.Delay > maxDelay:
		return what(fmt.Errorf("a delay of %v: give up to a hundred years", j.Delay))
	}
	if err := checkTime(j.RunAt); err != nil {
		return what(err)
	}
	if j.Timeout < 0 || j.Timeout > maxDelay {
		return what(fmt.Errorf("a timeout of %v: give a positive duration up to a hundred years, or leave the option out for that of the kind", j.Timeout))
	}
	if err := checkMeta(j.Meta); err != nil {
		return what(err)
	}
	if err := checkWebhook(j.Meta); err != nil {
		return what(err)
	}
	if err := checkLimitKey(j.LimitKey); err != nil {
		return what(err)
	}
	if err := checkCost(j.Cost); err != nil {
		return what(err)
	}
	args, err := checkArgs(j.Args)
	if err != nil {
		return what(err)
	}
	j.Args = args
	return nil
}

// checkMade returns an error for jobs that were not created by New, as far as stores rely on it.
func checkMade(jobs ...*Job) error {
	for _, j := range jobs {
		if j == nil || j.ID == (ID{}) || j.Kind == "" || j.Queue == "" || j.MaxAttempts < 1 {
			return errors.New("a job is nil or not whole: make it by job.New, or New of its kind")
		}
		if err := checkPriority(j.Priority); err != nil {
			return fmt.Errorf("job kind %q: %w", j.Kind, err)
		}
	}
	return nil
}

// checkName returns an error if the name of a kind, a queue or a cron is invalid. Names appear in commands, logs and URLs.
func checkName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the name of the %s is empty", what)
	case len(name) > MaxName:
		return fmt.Errorf("the name of the %s has %d bytes, at most %d are allowed: %.40q…", what, len(name), MaxName, name)
	case !utf8.ValidString(name):
		return fmt.Errorf("the name of the %s is not UTF-8: %q", what, name)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return fmt.Errorf("the name of the %s has a space or a control character in it: %q", what, name)
	}
	return nil
}

// checkText returns an error if a text has more than most bytes, or cannot be kept by all stores. what names the text in errors, and long names it
// in the error about its length.
func checkText(what, long, text string, most int) error {
	switch {
	case len(text) > most:
		return fmt.Errorf("%s has %d bytes, at most %d are allowed: %.60q…", long, len(text), most, text)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("%s is not UTF-8 or has a control character in it: %q", what, text)
	}
	return nil
}

func checkPriority(p int) error {
	if p < LowestPriority || p > HighestPriority {
		return fmt.Errorf("priority %d: give from %d to %d", p, LowestPriority, HighestPriority)
	}
	return nil
}

// checkTime returns an error if a job cannot be due at t. Stores return times in UTC, where t may be in another year than in its own zone, and a
// year after 9999 cannot be written as JSON.
func checkTime(t time.Time) error {
	year := t.UTC().Year()
	if t.IsZero() || year >= 1970 && year <= 9999 {
		return nil
	}
	return fmt.Errorf("a run time in the year %d: give one from 1970 to 9999", year)
}

func checkKey(key string) error {
	return checkText("the unique key", "the unique key, with the kind,", key, MaxKey)
}

// checkArgs returns the JSON without white space around its tokens.
func checkArgs(args json.RawMessage) (json.RawMessage, error) {
	switch {
	case len(args) > MaxArgs:
		return nil, fmt.Errorf("the args have %d bytes, at most %d are allowed: keep large data elsewhere and give its place", len(args), MaxArgs)
	case len(bytes.TrimSpace(args)) == 0:
		return nil, errors.New("the args are empty: give JSON, null if there is nothing to say")
	case !utf8.Valid(args):
		return nil, errors.New("the args are not UTF-8")
	}
	if len(args) <= 4 && (string(args) == "null" || string(args) == "{}") {
		return args, nil
	}
	var text bytes.Buffer
	text.Grow(len(args))
	if err := json.Compact(&text, args); err != nil {
		return nil, fmt.Errorf("the args are not JSON: %w", err)
	}
	return text.Bytes(), nil
}

// argsKey returns a unique key for args: a hash of their JSON with the keys of objects sorted, or of the values of some fields.
func argsKey(args json.RawMessage, fields []string) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(args))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return "", err
	}
	if len(fields) > 0 {
		object, ok := value.(map[string]any)
		if !ok {
			return "", fmt.Errorf("the args are not an object with the fields %s", strings.Join(fields, ", "))
		}
		chosen := make(map[string]any, len(fields))
		for _, f := range fields {
			v, ok := object[f]
			if !ok {
				return "", fmt.Errorf("the args have no field %q", f)
			}
			chosen[f] = v
		}
		value = []any{"fields", chosen} // so that the key differs from that of whole args with the same JSON
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}
