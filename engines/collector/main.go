// Command collector receives logs as the OpenTelemetry Collector does, by its OTLP receiver, and sends them by its OTLP exporter over HTTP.
// Both are as they are published. What a collector has around them, pipelines of many parts, its file and its own telemetry, is left out: its
// hundred and sixty packages take longer to compile than the rest. The flags --receiver and --exporter are the settings of the two in JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os/signal"
	"syscall"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/otel/metric/noop"
	nooptrace "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
)

func main() {
	from, to := flag.String("receiver", "{}", "settings of the receiver, in `JSON`"), flag.String("exporter", "{}", "settings of the exporter, in `JSON`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := collect(ctx, *from, *to); err != nil {
		log.Fatal(err)
	}
}

// collect exports what it receives until ctx is canceled, and then what it has received before.
func collect(ctx context.Context, from, to string) (err error) {
	settings, err := telemetry()
	if err != nil {
		return err
	}
	exporters, receivers := otlphttpexporter.NewFactory(), otlpreceiver.NewFactory()
	sending, err := configure(exporters, to)
	if err != nil {
		return err
	}
	receiving, err := configure(receivers, from)
	if err != nil {
		return err
	}
	out, err := exporters.CreateLogs(ctx, exporter.Settings{ID: component.NewID(exporters.Type()), TelemetrySettings: settings}, sending)
	if err != nil {
		return err
	}
	in, err := receivers.CreateLogs(ctx, receiver.Settings{ID: component.NewID(receivers.Type()), TelemetrySettings: settings}, receiving, out)
	if err != nil {
		return err
	}
	for _, c := range []component.Component{out, in} { // no one receives what cannot be exported yet
		if err := c.Start(context.WithoutCancel(ctx), host{}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Shutdown(context.WithoutCancel(ctx))) }()
	}
	<-ctx.Done()
	return nil
}

// configure returns the defaults of a receiver or an exporter with settings of its own.
func configure(f component.Factory, settings string) (component.Config, error) {
	var given map[string]any
	if err := json.Unmarshal([]byte(settings), &given); err != nil {
		return nil, fmt.Errorf("settings of %s: %w", f.Type(), err)
	}
	config := f.CreateDefaultConfig()
	if err := confmap.NewFromStringMap(given).Unmarshal(config); err != nil {
		return nil, fmt.Errorf("settings of %s: %w", f.Type(), err)
	}
	return config, nil
}

// telemetry is that of the two about themselves: they log errors.
func telemetry() (s component.TelemetrySettings, err error) {
	config := zap.NewProductionConfig()
	config.Level.SetLevel(zap.ErrorLevel)
	config.DisableStacktrace = true
	s.Logger, err = config.Build()
	s.MeterProvider, s.TracerProvider, s.Resource = noop.NewMeterProvider(), nooptrace.NewTracerProvider(), pcommon.NewResource()
	return s, err
}

// A host has no extensions.
type host struct{}

func (host) GetExtensions() map[component.ID]component.Component { return nil }
