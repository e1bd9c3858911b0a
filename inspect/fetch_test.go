package inspect_test

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// fetch stands for a network request.
func fetch(ctx context.Context, url string) (string, error) {
	return "page " + url, meanwhile.Sleep(ctx, time.Hour)
}
