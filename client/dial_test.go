package client

import (
	"errors"
	"testing"

	"google.golang.org/grpc/credentials"
)

func TestDialSpeaksPlainTextToLoopbackOnly(t *testing.T) {
	for target, want := range map[string]bool{
		"127.0.0.1:7420":                true,
		"127.1.2.3:1":                   true,
		"[::1]:7420":                    true,
		"localhost:7420":                true,
		"dns:///localhost:7420":         true,
		"passthrough:///127.0.0.1:7420": true,
		"unix:///run/transcriptd.sock":  true,
		"10.0.0.1:7420":                 false,
		"0.0.0.0:7420":                  false,
		"example.com:7420":              false,
		"localhost.example.com:7420":    false,
		"dns:///example.com:7420":       false,
		"[2001:db8::1]:7420":            false,
		"":                              false,
	} {
		c, err := Dial(target)
		if want != (err == nil) || !want && !errors.Is(err, ErrInsecure) {
			t.Errorf("%q: %v", target, err)
		}
		if c != nil {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		for _, opt := range []Option{WithInsecure(), WithTLS(credentials.NewTLS(nil))} {
			c, err := Dial(target, opt)
			if err != nil && target != "" {
				t.Errorf("%q with credentials: %v", target, err)
			}
			if c != nil {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
