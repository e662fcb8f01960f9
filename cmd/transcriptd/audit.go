package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transcriptd/transcriptd/internal/audit"
)

// auditFlags say whether and how it is written down what callers do.
type auditFlags struct {
	File     string `name:"audit" placeholder:"FILE" env:"TRANSCRIPTD_AUDIT" help:"Write to this file who did what: a line of JSON for each call that writes, administers or is refused; see docs/audit.md. Default: no audit."`
	KeyFile  string `name:"audit-key" placeholder:"FILE" env:"TRANSCRIPTD_AUDIT_KEY" help:"Authenticate the lines (HMAC) with the key in this file, 32 bytes at least, so that nobody without it can forge one; its mode must be 0600. 'openssl rand -hex 32' makes a key."`
	Required bool   `name:"audit-required" env:"TRANSCRIPTD_AUDIT_REQUIRED" help:"Refuse writes while lines cannot be written, and sync each line of a write before its reply. Default: such lines wait in memory, and are lost once there are too many."`
	MaxMiB   int64  `name:"audit-max-mib" default:"64" env:"TRANSCRIPTD_AUDIT_MAX_MIB" help:"Begin another file when this one is so large (1 to 1048576). The full one is kept as FILE.NUMBER, the number of its last line; transcriptd removes none."`
}

func (a *auditFlags) check() error {
	switch {
	case a.File == "" && a.KeyFile != "":
		return usagef("--audit-key needs --audit")
	case a.File == "" && a.Required:
		return usagef("--audit-required needs --audit")
	case a.MaxMiB < 1 || a.MaxMiB > 1<<20:
		return usagef("--audit-max-mib must be from 1 to 1048576, is %d", a.MaxMiB)
	}
	return nil
}

// openAudit opens the audit that the flags ask for; nil: none. close ends it.
func openAudit(cfg *config, log *slog.Logger) (_ *audit.Log, closeAudit func() error, err error) {
	closeAudit = func() error { return nil }
	flags := &cfg.Audit
	if flags.File == "" {
		return nil, closeAudit, nil
	}
	options := audit.Options{MaxBytes: flags.MaxMiB << 20, Required: flags.Required, Logger: log}
	if flags.KeyFile != "" {
		if options.Key, err = audit.ReadKey(flags.KeyFile); err != nil {
			return nil, closeAudit, fmt.Errorf("--audit-key: %w", err)
		}
	}
	kept, err := audit.Open(flags.File, options)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w (its folder must be there)", err)
		}
		return nil, closeAudit, fmt.Errorf("--audit %s: %w", flags.File, err)
	}
	return kept, kept.Close, nil
}

// registerAudit adds the metrics of an audit; nil has none.
func registerAudit(to prometheus.Registerer, kept *audit.Log) {
	if kept == nil {
		return
	}
	name := func(name string) string { return "transcriptd_audit_" + name }
	to.MustRegister(
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: name("lost_total"), Help: "Lines of the audit that could neither be written nor kept until they could.",
		}, func() float64 { return float64(kept.Numbers().Lost) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name("waiting_bytes"), Help: "Bytes of lines that wait in memory since they cannot be written.",
		}, func() float64 { return float64(kept.Numbers().WaitingBytes) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name("last_line"), Help: "The number of the last line of the audit.",
		}, func() float64 { return float64(kept.Numbers().Lines) }),
	)
}
