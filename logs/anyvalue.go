package logs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// appendAny appends a value of slog.KindAny: errors, fmt.Stringers and bytes as text, other values as JSON.
func appendAny(data []byte, value any) []byte {
	switch value := value.(type) {
	case json.RawMessage:
		if json.Valid(value) {
			return appendText(append(data, kindJSON), []byte(value))
		}
		return appendText(append(data, kindText), []byte(value))
	case error:
		return appendText(append(data, kindText), text(value.Error))
	case fmt.Stringer:
		return appendText(append(data, kindText), text(value.String))
	case []byte:
		return appendText(append(data, kindText), value)
	}
	encoded, err := json.Marshal(value)
	if err == nil {
		return appendText(append(data, kindJSON), encoded)
	}
	if containsItself(reflect.Indirect(reflect.ValueOf(value)), nil) { // package fmt would overflow the stack, which ends the process
		return appendText(append(data, kindText), "!ERROR: "+err.Error())
	}
	return appendText(append(data, kindText), fmt.Sprintf("%+v", value))
}

// text calls a method that returns a text. If it panics, for example because of a nil pointer, the text reports the panic.
func text(f func() string) (s string) {
	defer func() {
		if p := recover(); p != nil {
			s = fmt.Sprintf("!PANIC: %v", p)
		}
	}()
	return f()
}

// A container is a map or a slice.
type container struct {
	kind   reflect.Kind
	at     uintptr
	length int
}

// containsItself reports whether package fmt would print a value without end: whether a map or a slice contains itself, or is nested a
// thousand times. Package fmt does not follow pointers inside a value. above has the containers around v.
func containsItself(v reflect.Value, above []container) bool {
	kind := v.Kind()
	if kind == reflect.Map || kind == reflect.Slice {
		c := container{kind, v.Pointer(), v.Len()}
		if len(above) == 1000 || c.length > 0 && slices.Contains(above, c) {
			return true
		}
		above = append(above, c)
	}
	switch kind {
	case reflect.Interface:
		return containsItself(v.Elem(), above)
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			if containsItself(each.Key(), above) || containsItself(each.Value(), above) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if containsItself(v.Index(i), above) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if containsItself(v.Field(i), above) {
				return true
			}
		}
	}
	return false
}
