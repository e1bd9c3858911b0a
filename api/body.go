package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile/internal/jsonscan"
	"github.com/meanwhile-go/meanwhile/job"
)

// Bounds of requests.
const (
	mostQuery    = 16 << 10
	mostOne      = job.MaxArgs + 64<<10 // bytes of a body that is one object
	mostBulk     = 64 << 20             // bytes of a body with a job on each line
	mostBulkJobs = 100_000
	mostDepth    = 100 // of nested objects and arrays
)

// readBody returns the body of a request, which must have the Content-Type of JSON and at most most bytes.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if err := checkType(r, "application/json"); err != nil {
		return nil, err
	}
	body, err := bodyOf(w, r, most)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(body)
	if _, long := errors.AsType[*http.MaxBytesError](err); err != nil && !long {
		return nil, refuse(http.StatusBadRequest, "the body broke off")
	}
	return text, err
}

// bodyOf bounds the body. If its Content-Length is too large, it is not read at all.
func bodyOf(w http.ResponseWriter, r *http.Request, most int64) (io.Reader, error) {
	if r.ContentLength > most {
		return nil, &http.MaxBytesError{Limit: most}
	}
	return http.MaxBytesReader(w, r.Body, most), nil
}

func checkType(r *http.Request, want string) error {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || media != want || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return refuse(http.StatusUnsupportedMediaType, "the Content-Type is %.60q: send %s, in UTF-8", r.Header.Get("Content-Type"), want)
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return refuse(http.StatusUnsupportedMediaType, "the Content-Encoding is %.60q: send the body as it is", coding)
	}
	return nil
}

// readJSON decodes the body of a request, of at most most bytes, into an object, strictly.
func readJSON(w http.ResponseWriter, r *http.Request, into any, most int64) error {
	text, err := readBody(w, r, most)
	if err != nil {
		return err
	}
	if err := decode(text, into); err != nil {
		return refuse(http.StatusBadRequest, "the body: %v", err)
	}
	return nil
}

// decode decodes one JSON object, and refuses what encoding/json would leave out.
func decode(text []byte, into any) error {
	switch {
	case !utf8.Valid(text):
		return errors.New("it is not UTF-8")
	case len(bytes.TrimSpace(text)) == 0:
		return errors.New("it is empty: send a JSON object")
	case string(bytes.TrimSpace(text)) == "null":
		return errors.New("it is null: send a JSON object")
	}
	var nesting jsonscan.Nesting
	if nesting.End(text); nesting.Deepest() > mostDepth { // before anything is decoded
		return fmt.Errorf("it has more than %d objects and arrays in each other", mostDepth)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return explainJSON(err, reflect.TypeOf(into))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind the JSON object")
	}
	return nil
}

// explainJSON describes an error of encoding/json without the terms of Go. into is the type that was decoded.
func explainJSON(err error, into reflect.Type) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the JSON breaks off")
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("no JSON: %w, at byte %d", syntax, syntax.Offset)
	}
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		given, value, _ := strings.Cut(mismatch.Value, " ")
		where, want := "it", jsonType(mismatch.Type)
		if mismatch.Field != "" {
			where = fmt.Sprintf("%q", jsonField(into, mismatch.Field))
		}
		if want == "integer" && value != "" {
			return fmt.Errorf("%s is %.40s: give an integer, without a fraction or an exponent, of at most 18 digits", where, value)
		}
		return fmt.Errorf("%s is of type %s: give one of type %s", where, given, want)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// jsonField returns the path of a field in the JSON. encoding/json also names the embedded structs on the way, and elements from Go 1.27 on.
func jsonField(in reflect.Type, field string) string {
	var path []string
	names := strings.Split(field, ".")
	for i, name := range names {
		for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice {
			in = in.Elem()
		}
		if in.Kind() == reflect.Struct {
			if f, ok := in.FieldByName(name); ok && f.Anonymous && i < len(names)-1 {
				in = f.Type
				continue
			}
			for _, f := range reflect.VisibleFields(in) {
				if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
					in = f.Type
					break
				}
			}
		}
		path = append(path, name)
	}
	return strings.Join(path, ".")
}

func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Slice:
		return "array"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	}
	return "object"
}
