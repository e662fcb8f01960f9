package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// newTracer sends traces to the collector that the flags name; without one the provider is nil. What goes wrong with that is logged.
// stop sends what is left, for a second at most.
func newTracer(ctx context.Context, cfg *config, log *slog.Logger) (provider trace.TracerProvider, stop func(), err error) {
	if cfg.OTLPEndpoint == "" {
		return nil, func() {}, nil
	}
	otel.SetLogger(logr.FromSlogHandler(log.Handler()))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces are not sent", "cause", err.Error()) }))
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(cfg.OTLPEndpoint), otlptracegrpc.WithInsecure())
	if err != nil {
		return nil, nil, usagef("--otlp-endpoint: %w", err)
	}
	sdk := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	return sdk, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = sdk.Shutdown(ctx) // a collector that is gone must not hold up the end
	}, nil
}
