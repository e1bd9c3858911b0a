package filter

import (
	"fmt"
	"testing"
)

func TestFilterLooks(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "false []",
		"level>=warn service=api job=7":       "false []",
		"time>=2026-05-04 -number=3 task~x":   "false []",
		"timed":                               "true []",
		"-timed":                              "true []",
		"message~x":                           "true []",
		"-message=x":                          "true []",
		"status=1 or (a>2 -b~x) or status!=7": "false [a b status]",
		"x=* not (y=1 timed)":                 "true [x y]",
	} {
		message, attrs := match(t, text).Looks()
		if got := fmt.Sprint(message, " ", attrs); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
