package main

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func TestFlagsAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"reachable address":       {[]string{"--listen=0.0.0.0:7420"}, "--insecure"},
		"reachable by any name":   {[]string{"--listen=:7420"}, "--insecure"},
		"reachable admin address": {[]string{"--admin-listen=192.0.2.1:80"}, "--insecure"},
		"no port":                 {[]string{"--listen=localhost"}, "HOST:PORT"},
		"cache too small":         {[]string{"--cache-mib=1"}, "--cache-mib"},
		"no such port":            {[]string{"--listen=127.0.0.1:99999"}, "HOST:PORT"},
		"memory too small":        {[]string{"--memory-mib=5"}, "--memory-mib"},
		"no collector's port":     {[]string{"--otlp-endpoint=nohost"}, "--otlp-endpoint must be HOST:PORT"},
		"a collector's URL":       {[]string{"--otlp-endpoint=http://127.0.0.1:4317"}, "HOST:PORT"},
		"an empty port":           {[]string{"--otlp-endpoint=collector:"}, "HOST:PORT"},
		"the collector's port 0":  {[]string{"--otlp-endpoint=collector:0"}, "HOST:PORT"},
		"a host with a blank":     {[]string{"--otlp-endpoint=a b:4317"}, "HOST:PORT"},
		"negative delay":          {[]string{"--drain-delay=-1s"}, "--drain-delay"},
		"negative timeout":        {[]string{"--drain-timeout=-1s"}, "--drain-timeout"},
		"a key of no audit":       {[]string{"--audit-key=x"}, "needs --audit"},
		"no audit to require":     {[]string{"--audit-required"}, "needs --audit"},
		"audit too small":         {[]string{"--audit=x", "--audit-max-mib=0"}, "--audit-max-mib"},
		"log level":               {[]string{"--log-level=loud"}, "--log-level"},
		"unknown flag":            {[]string{"--sotre=x"}, "unknown flag"},
		"stray word":              {[]string{"sevre"}, "unexpected argument"},
		"repair of nothing":       {[]string{"repair", "--store=memory:"}, "badger://PATH"},
		"no engine":               {[]string{"--listen=127.0.0.1:0", "--admin-listen=off", "--store=./transcripts"}, "badger://PATH"},
		"unknown engine":          {[]string{"--listen=127.0.0.1:0", "--admin-listen=off", "--store=sqlite:x"}, "badger://PATH"},
		"badger without path":     {[]string{"--listen=127.0.0.1:0", "--admin-listen=off", "--store=badger://"}, "badger://PATH"},
		"memory with path":        {[]string{"--listen=127.0.0.1:0", "--admin-listen=off", "--store=memory:x"}, "memory:"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			err := run(t.Context(), c.args, &stdout, &stderr)
			var usage *usageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: %v; want a usage error with %q", c.args, err, c.want)
			}
		})
	}
}

func TestFlagsFromEnvironment(t *testing.T) {
	t.Setenv("TRANSCRIPTD_LISTEN", "127.0.0.1:1234")
	t.Setenv("TRANSCRIPTD_STORE", "memory:")
	t.Setenv("TRANSCRIPTD_CACHE_MIB", "8")
	cfg, err := parseConfig([]string{"--store=badger://./x"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Listen != "127.0.0.1:1234" || cfg.CacheMiB != 8 || cfg.Store != "badger://./x" {
		t.Errorf("%+v: the environment is the default, a flag wins", cfg)
	}
}

func TestHelpAndVersion(t *testing.T) {
	var help bytes.Buffer
	if err := run(t.Context(), []string{"--help"}, &help, io.Discard); !errors.Is(err, errHelpShown) {
		t.Errorf("--help: %v", err)
	}
	for _, word := range []string{"--listen", "127.0.0.1:7420", "--store", "badger://./transcripts", "--admin-listen",
		"$TRANSCRIPTD_LISTEN", "Exit codes"} {
		if !strings.Contains(help.String(), word) {
			t.Errorf("--help does not tell of %s:\n%s", word, help.String())
		}
	}
	var shown bytes.Buffer
	if err := run(t.Context(), []string{"--version"}, &shown, io.Discard); !errors.Is(err, errHelpShown) || !strings.HasPrefix(shown.String(), "transcriptd ") {
		t.Errorf("--version: %q, %v", shown.String(), err)
	}
}

func TestServesAndDrains(t *testing.T) {
	dir := t.TempDir()
	p := startProcess(t, nil, badgerFlag(dir), "--admin-listen=127.0.0.1:0")
	if line := p.log(); !strings.Contains(line, p.addr) || !strings.Contains(line, dir) {
		t.Errorf("the first line names neither address nor directory: %q", line)
	}
	conn := p.dial(t)
	reply, err := putText(callContext(t), transcriptv1.NewTranscriptServiceClient(conn), "hello")
	if err != nil || !reply.GetCreated() {
		t.Fatalf("%v, %v", reply, err)
	}
	health, err := healthpb.NewHealthClient(conn).Check(callContext(t), &healthpb.HealthCheckRequest{})
	if err != nil || health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", health, err)
	}
	for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ready", "/metrics": "grpc_server_handled_total", "/debug/pprof/cmdline": "listen"} {
		if body := get(t, p.admin+path); !strings.Contains(body, want) {
			t.Errorf("%s has no %q", path, want)
		}
	}
	key := receiptKey(t, conn)
	if len(key) != ed25519.PublicKeySize {
		t.Errorf("the key of receipts has %d bytes at the first start", len(key))
	}
	p.terminate(t)

	p = startProcess(t, nil, badgerFlag(dir), "--admin-listen=off")
	if again := receiptKey(t, p.dial(t)); !bytes.Equal(again, key) {
		t.Error("after a restart the key of receipts is another")
	}
	again, err := putText(callContext(t), transcriptv1.NewTranscriptServiceClient(p.dial(t)), "hello")
	if err != nil || again.GetCreated() || again.GetNodeId() != reply.GetNodeId() {
		t.Errorf("after a restart the node is put again: %v, %v", again, err)
	}
	p.terminate(t)
}

// receiptKey is the public key that receipts are checked with.
func receiptKey(t *testing.T, conn *grpc.ClientConn) []byte {
	t.Helper()
	info, err := transcriptv1.NewTranscriptServiceClient(conn).ServerInfo(callContext(t), &transcriptv1.ServerInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return info.ReceiptPublicKey
}

func get(t *testing.T, url string) string {
	t.Helper()
	code, body := answer(t, url, "")
	if code != http.StatusOK {
		t.Fatalf("%s: %d", url, code)
	}
	return body
}

// answer is that to a request which names a host; empty: that of the url.
func answer(t *testing.T, url, host string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(callContext(t), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(b)
}

// watchHealth opens a stream that tells of the drain and then ends.
func watchHealth(t *testing.T, p *process) healthpb.Health_WatchClient {
	t.Helper()
	stream, err := healthpb.NewHealthClient(p.dial(t)).Watch(callContext(t), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	return stream
}

// hold opens a call that goes on for as long as its client and the server let it.
func hold(t *testing.T, p *process) reflectionpb.ServerReflection_ServerReflectionInfoClient {
	t.Helper()
	stream, err := reflectionpb.NewServerReflectionClient(p.dial(t)).ServerReflectionInfo(callContext(t))
	if err != nil {
		t.Fatal(err)
	}
	list := &reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{ListServices: "*"},
	}
	if err := stream.Send(list); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	return stream
}

// beginDrain sends SIGTERM and waits until the server drains.
func beginDrain(t *testing.T, p *process, health healthpb.Health_WatchClient) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if update, err := health.Recv(); err != nil || update.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Fatalf("%v, %v; want NOT_SERVING", update, err)
	}
}

func TestSignals(t *testing.T) {
	t.Run("health tells of the drain, running calls end at the timeout", func(t *testing.T) {
		const timeout = 300 * time.Millisecond
		p := startProcess(t, nil, "--store=memory:", "--admin-listen=off", "--drain-timeout="+timeout.String())
		health, call := watchHealth(t, p), hold(t, p)
		began := time.Now()
		beginDrain(t, p, health)
		_, err := call.Recv()
		if code := status.Code(err); code != codes.Unavailable && code != codes.Canceled {
			t.Errorf("%v; want the end of the call", err)
		}
		if took := time.Since(began); took < timeout {
			t.Errorf("the running call was ended after %s, before the timeout", took)
		}
		if p.waitExit(t); p.exit != nil {
			t.Errorf("%v; want exit code 0", p.exit)
		}
	})
	t.Run("a second signal ends at once", func(t *testing.T) {
		p := startProcess(t, nil, "--store=memory:", "--admin-listen=off", "--drain-timeout=1h")
		health := watchHealth(t, p)
		hold(t, p)
		beginDrain(t, p, health)
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if p.waitExit(t); p.exit == nil {
			t.Error("exit code 0; want the signal's")
		}
	})
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	startProcess(t, nil, badgerFlag(dir), "--admin-listen=off")
	err := run(t.Context(), []string{"--listen=127.0.0.1:0", "--admin-listen=off", badgerFlag(dir)}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), filepath.Base(dir)) || !strings.Contains(err.Error(), "another process") {
		t.Errorf("%v; want an error that says that another process has the directory", err)
	}
}

func TestBusyPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for _, flag := range []string{"--listen=", "--admin-listen="} {
		args := []string{"--listen=127.0.0.1:0", "--store=memory:", flag + taken.Addr().String()}
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), flag[:len(flag)-1]) {
			t.Errorf("%s: %v; want an error that names the flag", flag, err)
		}
	}
}
