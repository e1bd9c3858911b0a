package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The bounds of the Meta of a job.
const (
	MaxMeta      = 32      // entries
	MaxMetaBytes = 4 << 10 // of keys and values together
)

// MetaID is the key of Meta for the ID of a job in another system. Stores keep an index of it: a [Filter] by a plain value of it, of up to 200
// bytes that JSON writes as they are, costs no more than one by ID. Several jobs may share a value.
const MetaID = "jid"

// MetaCron is the key of Meta for the name of the cron that enqueued a job. Workers set it unless the job has it already or its Meta is full.
const MetaCron = "cron"

const maxMetaID = 200

// Options are set when a job is enqueued, and never change. Stores keep them as one value, see [Job.EncodeOptions].
type Options struct {
	Timeout  time.Duration     `json:"timeout,omitempty"`   // of each attempt, in ns; zero is that of the kind
	Meta     map[string]string `json:"meta,omitempty"`      // see the option [Meta]
	LimitKey string            `json:"limit_key,omitempty"` // see the option [LimitKey]
	Cost     int               `json:"cost,omitempty"`      // see the option [Cost]
}

// Meta gives a job a tag beside its args, such as the tenant or the request that it is for: up to 32 tags, with 4 KiB of keys and
// values together. Jobs can be searched by tag, see [Filter], and handlers read tags from Job.Meta. If a key is given twice, the last
// value counts, even if a kind has the key as a default.
func Meta(key, value string) Option {
	return both(func(in *insertion) {
		in.Job.Meta = maps.Clone(in.Job.Meta)
		if in.Job.Meta == nil {
			in.Job.Meta = map[string]string{}
		}
		in.Job.Meta[key] = value
	})
}

func checkMeta(meta map[string]string) error {
	if len(meta) > MaxMeta {
		return fmt.Errorf("%d entries of meta: give at most %d, and keep the rest in the args", len(meta), MaxMeta)
	}
	size := 0
	for key, value := range meta {
		size += len(key) + len(value)
		switch {
		case key == "":
			return errors.New("a key of meta is empty")
		case !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl):
			return fmt.Errorf("the key %.40q of meta is not UTF-8 or has a control character in it", key)
		case !utf8.ValidString(value):
			return fmt.Errorf("the value of %.40q in meta is not UTF-8", key)
		}
	}
	if size > MaxMetaBytes {
		return fmt.Errorf("the keys and values of meta have %d bytes, at most %d are allowed: keep large data in the args", size, MaxMetaBytes)
	}
	return nil
}

// MetaTexts returns a text for each entry of the filter's Meta: the entry as JSON. A job has the entry if, and only if, its encoded options contain
// the text directly after a { or a comma. Without that character before it, the text may also be part of a longer key that has a quotation mark in it.
func (f *Filter) MetaTexts() []string {
	var texts []string
	for key, value := range f.Meta {
		texts = append(texts, string(appendEntry(nil, key, value)))
	}
	return texts
}

// MetaID returns the value of [MetaID] that the filter asks for, with its quotes as in encoded options, or "" if it asks for none, or for one that
// indexes do not have.
func (f *Filter) MetaID() string {
	value := f.Meta[MetaID]
	if value == "" || len(value) > maxMetaID {
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil || len(text) != len(value)+2 {
		return ""
	}
	return string(text)
}
