package job_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/job"
)

// writtenOptions are the options as encoding/json writes and reads them.
type writtenOptions struct {
	Cost     int               `json:"cost,omitempty"`
	Timeout  time.Duration     `json:"timeout,omitempty"`
	Meta     map[string]string `json:"meta,omitempty"`
	LimitKey []string          `json:"limit_key,omitempty"`
}

func (w writtenOptions) options() job.Options {
	o := job.Options{Cost: w.Cost, Timeout: w.Timeout, Meta: w.Meta}
	if len(w.LimitKey) > 0 {
		o.LimitKey = w.LimitKey[0]
	}
	return o
}

// TestEncodedOptions: the encoding equals that of encoding/json, except for the order and the first characters of some keys of Meta, and decodes to the
// same options, also by encoding/json.
func TestEncodedOptions(t *testing.T) {
	texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{job.MetaID, ":", ",a", `}"`}), rapid.StringMatching(`[ -~]{0,20}`), rapid.Just("<a href=\"x\">\\ \x7f\u2028\U0001f600"))
	rapid.Check(t, func(t *rapid.T) {
		o := job.Options{
			Timeout: time.Duration(rapid.Int64().Draw(t, "timeout")), LimitKey: texts.Draw(t, "limit key"), Cost: rapid.Int().Draw(t, "cost"),
			Meta: rapid.MapOfN(texts, texts, 0, 4).Draw(t, "meta"),
		}
		if len(o.Meta) == 0 {
			o.Meta = nil
		}
		written := writtenOptions{Cost: o.Cost, Timeout: o.Timeout, Meta: o.Meta}
		if o.LimitKey != "" {
			written.LimitKey = []string{o.LimitKey}
		}
		want, err := json.Marshal(written)
		if err != nil {
			t.Fatal(err)
		}
		if string(want) == "{}" {
			want = nil
		}
		got := (&job.Job{Options: o}).EncodeOptions()
		_, hasID := o.Meta[job.MetaID]
		if !hasID && !slices.ContainsFunc(slices.Collect(maps.Keys(o.Meta)), func(key string) bool { return strings.IndexAny(key, ":,}]") == 0 }) && string(got) != string(want) {
			t.Fatalf("encoded as %s, want %s", got, want)
		}
		var plain writtenOptions
		if err := json.Unmarshal(got, &plain); want != nil && (err != nil || !reflect.DeepEqual(plain, written)) {
			t.Fatalf("encoding/json decodes %s as %#v, %v, want %#v", got, plain, err, written)
		}
		var read job.Job
		if err := read.DecodeOptions(got); err != nil || !reflect.DeepEqual(read.Options, o) {
			t.Errorf("decoded as %#v, %v, want %#v", read.Options, err, o)
		}
	})
}

// FuzzDecodeOptions compares the options decoded from any text with those that encoding/json decodes.
func FuzzDecodeOptions(f *testing.F) {
	for _, text := range []string{
		`{"cost":3,"timeout":-1,"meta":{"jid":"a","b":"\u003c"},"limit_key":["k"]}`, `{"cost":1.5}`, `{"limit_key":[]}`, `{"meta":{}}`,
		`{"meta":{"a":"b"},"meta":{"c":"d"}}`, `{"cost":99999999999999999999}`, `{"Cost":1}`, `{"cost":1,}`, `{"cost":1}x`, `{"limit_key":["a","b"]}`, `null`, ``, `{"meta":{"a":"` + "\xff" + `"}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want writtenOptions
		wantErr := json.Unmarshal([]byte(text), &want)
		if text == "" {
			wantErr = nil
		}
		var got job.Job
		err := got.DecodeOptions([]byte(text))
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got.Options, want.options()) {
			t.Errorf("%q was decoded as %#v, %v, want %#v, %v", text, got.Options, err, want.options(), wantErr)
		}
	})
}

// BenchmarkOptions encodes and decodes the options of a job with one entry of Meta.
func BenchmarkOptions(b *testing.B) {
	b.ReportAllocs()
	j := job.Job{Options: job.Options{Meta: map[string]string{job.MetaID: strings.Repeat("a", 24)}}}
	for b.Loop() {
		if err := j.DecodeOptions(j.EncodeOptions()); err != nil {
			b.Fatal(err)
		}
	}
}
