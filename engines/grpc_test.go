//go:build unix

package engines

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
)

// TestGRPCExporter: records that OpenTelemetry's Go exporter sends by gRPC are stored, with and without compression.
func TestGRPCExporter(t *testing.T) {
	s := serve(t)
	for _, compression := range []string{"none", "gzip"} {
		options := []otlploggrpc.Option{otlploggrpc.WithEndpoint(s.http), otlploggrpc.WithInsecure(), otlploggrpc.WithRetry(otlploggrpc.RetryConfig{})}
		if compression == "gzip" {
			options = append(options, otlploggrpc.WithCompressor(compression))
		}
		exporter, err := otlploggrpc.New(t.Context(), options...)
		if err != nil {
			t.Fatal(err)
		}
		failed := &failures{Exporter: exporter}
		provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(failed)),
			sdklog.WithResource(resource.NewSchemaless(attribute.String("service.name", "by "+compression))))
		at := time.Date(2026, 11, 23, 10, 0, 0, 5, time.UTC)
		var want []string
		for n := range 500 {
			var r log.Record
			r.SetTimestamp(at.Add(time.Duration(n)))
			r.SetSeverity(log.SeverityWarn)
			r.SetBody(attribute.StringValue(fmt.Sprintf("record %03d", n)))
			r.AddAttributes(attribute.Int("n", n))
			provider.Logger("lib").Emit(t.Context(), r)
			want = append(want, fmt.Sprintf("record %03d WARN %s otel.scope.name=lib n=%d", n, at.Add(time.Duration(n)).Format(time.RFC3339Nano), n))
		}
		if err := provider.Shutdown(t.Context()); err != nil || failed.err != nil {
			t.Fatal(err, failed.err)
		}
		if got := s.lines(t, "by "+compression, len(want)); !slices.Equal(got, want) {
			t.Errorf("%s: got %d records, the first\n%q, want\n%q", compression, len(got), got[0], want[0])
		}
	}
}

// failures keeps the errors of exports, which the provider only logs.
type failures struct {
	sdklog.Exporter
	err error
}

func (f *failures) Export(ctx context.Context, records []sdklog.Record) error {
	if err := f.Exporter.Export(ctx, records); err != nil {
		f.err = err
	}
	return nil
}
