package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// newTracer sends traces to the collector that the flags name; without one the provider is nil. stop sends what is left, for a second at
// most.
func newTracer(ctx context.Context, cfg *config) (provider trace.TracerProvider, stop func(), err error) {
	if cfg.OTLPEndpoint == "" {
		return nil, func() {}, nil
	}
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
