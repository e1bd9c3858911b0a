// Article runs calls concurrently and joins their results: a title, which takes 2 s to write, and five paragraphs of 1 s
// each. It writes the article first sequentially, then concurrently, with the same two functions.
//
// It prints how long both took, 7 s and 2 s, and that the articles are equal:
//
//	one after the other  7.0 s
//	at once              2.0 s
//	the same article: true
//
// The flag -scale multiplies the waits: -scale 0.1 shows 0.7 s and 0.2 s.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

var scale = flag.Float64("scale", 1, "multiply the waits by `factor`")

func main() {
	flag.Parse()
	ctx := context.Background()

	first, err := timed("one after the other", func() (string, error) { return sequential(ctx) })
	if err != nil {
		log.Fatal(err)
	}
	second, err := timed("at once", func() (string, error) { return concurrent(ctx) })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the same article:", first == second)
}

// title and paragraph do not depend on tasks.

func title(ctx context.Context) (string, error) {
	err := wait(ctx, 2*time.Second)
	return "On waiting", err
}

func paragraph(ctx context.Context, n int) (string, error) {
	err := wait(ctx, time.Second)
	return fmt.Sprintf("Paragraph %d.", n), err
}

// sequential takes as long as all the waits together.
func sequential(ctx context.Context) (string, error) {
	head, err := title(ctx)
	if err != nil {
		return "", err
	}
	article := []string{head}
	for n := range 5 {
		text, err := paragraph(ctx, n+1)
		if err != nil {
			return "", err
		}
		article = append(article, text)
	}
	return strings.Join(article, "\n"), nil
}

// concurrent takes as long as the longest wait.
func concurrent(ctx context.Context) (string, error) {
	var article []string
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		tasks := []*meanwhile.Task[string]{meanwhile.Async(ctx, title)}
		for n := range 5 {
			tasks = append(tasks, meanwhile.Async(ctx, func(ctx context.Context) (string, error) {
				return paragraph(ctx, n+1)
			}))
		}
		for _, task := range tasks {
			text, err := task.Wait(ctx)
			if err != nil {
				return err
			}
			article = append(article, text)
		}
		return nil
	})
	return strings.Join(article, "\n"), err
}

func wait(ctx context.Context, d time.Duration) error {
	return meanwhile.Sleep(ctx, time.Duration(float64(d)**scale))
}

func timed(what string, fn func() (string, error)) (string, error) {
	start := time.Now()
	article, err := fn()
	fmt.Printf("%-20s %.1f s\n", what, time.Since(start).Seconds())
	return article, err
}
