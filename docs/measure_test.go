package docs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/measure"
)

var someWords = strings.Fields(strings.Repeat("a few words to put together ", 20))

func join(context.Context) error {
	_ = strings.Join(someWords, " ")
	return nil
}

func concatenate(context.Context) error {
	text := ""
	for _, w := range someWords {
		text += w + " "
	}
	_ = text
	return nil
}

func BenchmarkJoin(b *testing.B) {
	measure.Bench(b, measure.Config{Time: time.Second}, measure.Func("join", join), measure.Func("concatenate", concatenate))
}
