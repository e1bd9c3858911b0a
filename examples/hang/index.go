package main

import (
	"context"
	"fmt"

	"github.com/meanwhile-go/meanwhile"
)

// index makes pages of 1,000 articles, four concurrently, and sends each to a search that does not receive them.
func index(ctx context.Context) error {
	search := make(chan string)
	articles := func(yield func(int, error) bool) {
		for i := 0; i < 1000 && yield(i, nil); i++ {
		}
	}
	for page, err := range meanwhile.Map(ctx, articles, render, meanwhile.Limit(4), meanwhile.Name("pages")) {
		if err != nil {
			return err
		}
		search <- page
	}
	return nil
}

func render(_ context.Context, article int) (string, error) {
	return fmt.Sprintf("article %d", article), nil
}
