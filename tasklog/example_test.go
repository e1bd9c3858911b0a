package tasklog_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/tasklog"
)

func ExampleHandler() {
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	text := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime})
	log := slog.New(tasklog.Handler(text))

	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		log.InfoContext(ctx, "begun")
		meanwhile.Go(ctx, func(ctx context.Context) error {
			log.InfoContext(ctx, "written", "files", 3)
			return nil
		}, meanwhile.Name("writer"))
		return nil
	}, meanwhile.Name("index"))
	log.Info("ended", "err", err)
	// Output:
	// level=INFO msg=begun task=index
	// level=INFO msg=written files=3 task=index/writer
	// level=INFO msg=ended err=<nil>
}

// A handler of your own reads the attributes of the task when it writes a record.
func ExampleAttrs() {
	_ = meanwhile.Run(context.Background(), func(ctx context.Context) error {
		return meanwhile.Run(ctx, func(ctx context.Context) error {
			for _, a := range tasklog.Attrs(ctx) {
				fmt.Println(a)
			}
			return nil
		}, meanwhile.Attrs(slog.Int("shard", 2)))
	}, meanwhile.Attrs(slog.String("tenant", "acme")))
	// Output:
	// tenant=acme
	// shard=2
}

func ExampleAppendPath() {
	_ = meanwhile.Run(context.Background(), func(ctx context.Context) error {
		return meanwhile.Run(ctx, func(ctx context.Context) error {
			line := []byte("task=")
			line = tasklog.AppendPath(ctx, line)
			fmt.Println(string(line))
			return nil
		}, meanwhile.Name("writer"))
	}, meanwhile.Name("index"))
	// Output:
	// task=index/writer
}
