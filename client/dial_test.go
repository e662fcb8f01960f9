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
			if err != nil {
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

// TestDialWantsAPort: for a host without one gRPC would take 443, where no transcriptd answers, and a URL is no address of gRPC.
func TestDialWantsAPort(t *testing.T) {
	for _, target := range []string{"", "localhost", "example.com", "127.0.0.1", "::1", "localhost:", "dns:///localhost", "http://127.0.0.1:7422", "https://transcripts.example"} {
		for _, opts := range [][]Option{nil, {WithInsecure()}} {
			if c, err := Dial(target, opts...); !errors.Is(err, ErrBadTarget) || c != nil {
				t.Errorf("%q: %v; want ErrBadTarget", target, err)
			}
		}
	}
}
