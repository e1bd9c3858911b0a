// Command collector is an OpenTelemetry Collector of as few parts as its tests need: it takes OTLP and sends OTLP over HTTP.
// They are as they are published; here is only which. The flag --config names its file.
package main

import (
	"context"
	"log"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry"
	"go.uber.org/zap"
)

func main() {
	settings := otelcol.CollectorSettings{Factories: factories}
	settings.BuildInfo.Command = "collector"
	files := &settings.ConfigProviderSettings.ResolverSettings
	files.ProviderFactories = append(files.ProviderFactories, fileprovider.NewFactory())
	files.DefaultScheme = "file"
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}

func factories() (f otelcol.Factories, err error) {
	f.Telemetry = telemetry.NewFactory(func() component.Config { return new(struct{}) }, telemetry.WithCreateLogger(logErrors))
	if f.Receivers, err = otelcol.MakeFactoryMap(otlpreceiver.NewFactory()); err != nil {
		return f, err
	}
	f.Exporters, err = otelcol.MakeFactoryMap(otlphttpexporter.NewFactory())
	return f, err
}

// logErrors is all that it tells of itself: what does so for a collector that is published needs a hundred packages.
func logErrors(_ context.Context, settings telemetry.LoggerSettings, _ component.Config) (*zap.Logger, component.ShutdownFunc, error) {
	config := zap.NewProductionConfig()
	config.Level.SetLevel(zap.ErrorLevel)
	config.DisableStacktrace = true
	logger, err := settings.BuildZapLogger(config)
	return logger, nil, err
}
