package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// A store is encrypted with a key that a command makes, and says so; without its key, or with another, the daemon does not start, says what to do and
// prints no key; the key is changed while no daemon runs, and all that was acknowledged is there.
func TestEncryptedStore(t *testing.T) {
	folder := t.TempDir()
	dir := filepath.Join(folder, "store")
	first, second := filepath.Join(folder, "first.key"), filepath.Join(folder, "second.key")
	var secrets []string
	run := func(want int, says string, args ...string) {
		t.Helper()
		out, code := runToEnd(t, args...)
		if code != want || !strings.Contains(out, says) {
			t.Errorf("%v: exit code %d, want %d and %q\n%s", args, code, want, says, out)
		}
		for _, secret := range secrets {
			if strings.Contains(out, secret) {
				t.Errorf("%v prints a key", args)
			}
		}
	}
	for _, file := range []string{first, second} {
		run(exitOK, "keep a copy elsewhere", "key", "create", file)
		run(exitFailed, "is there already: a key is not written over", "key", "create", file)
		secret, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, strings.TrimSpace(string(secret)))
	}
	serve := func(key string, more ...string) []string {
		return append([]string{badgerFlag(dir), "--admin-listen=off", "--listen=127.0.0.1:0", "--encryption-key-file=" + key}, more...)
	}
	rotate := func(from, to string) []string {
		return []string{"key", "rotate", to, badgerFlag(dir), "--encryption-key-file=" + from}
	}
	p := startProcess(t, nil, serve(first)...)
	if !strings.Contains(p.log(), "encrypted)") {
		t.Errorf("it does not say that the store is encrypted:\n%s", p.log())
	}
	ids := putTexts(t, p, 0, 20)
	run(exitFailed, "in use", rotate(first, second)...)
	p.kill()

	plain := []string{badgerFlag(dir), "--admin-listen=off", "--listen=127.0.0.1:0"}
	run(exitFailed, "it is encrypted, and no key was given\nNothing was changed", plain...)
	run(exitFailed, "it is encrypted with another", serve(second)...)
	run(exitFailed, "no key was given", "repair", badgerFlag(dir))
	run(exitOK, "Nothing is damaged", "repair", badgerFlag(dir), "--encryption-key-file="+first)
	for _, more := range []string{"--recover", "--repair"} {
		run(exitFailed, "no key was given", "verify", badgerFlag(dir), more)
		run(exitOK, "nodes 20, ", "verify", badgerFlag(dir), more, "--encryption-key-file="+first)
	}
	run(exitFailed, "transcriptd key create", serve(filepath.Join(folder, "none"))...)
	if err := os.Chmod(first, 0o644); err != nil {
		t.Fatal(err)
	}
	run(exitFailed, "chmod 600", serve(first)...)
	if err := os.Chmod(first, 0o600); err != nil {
		t.Fatal(err)
	}
	run(exitOK, "has the key of "+second, rotate(first, second)...)
	run(exitOK, "has the key of "+second, rotate(first, second)...) // repeated, as after a crash
	run(exitFailed, "it is encrypted with another", serve(first)...)

	p = startProcess(t, nil, serve(second)...)
	findAll(t, transcriptv1.NewTranscriptServiceClient(p.dial(t)), append(ids, putTexts(t, p, 20, 30)...))
	verifyClean(t, p.dial(t), "")
	p.terminate(t)

	begun := filepath.Join(folder, "plain")
	startProcess(t, nil, badgerFlag(begun), "--admin-listen=off").terminate(t)
	run(exitFailed, "begun without encryption", badgerFlag(begun), "--listen=127.0.0.1:0", "--admin-listen=off", "--encryption-key-file="+first)
	for says, args := range map[string][]string{
		"is never on disk":                         {"--store=memory:", "--encryption-key-file=" + first},
		"--encryption-data-key-rotation must be":   {badgerFlag(begun), "--encryption-data-key-rotation=1m"},
		"needs --encryption-key-file":              {"key", "rotate", second, badgerFlag(begun)},
		"key rotate needs --store badger://PATH":   {"key", "rotate", second, "--store=memory:"},
		fmt.Sprintf("unexpected argument %s", dir): {dir},
	} {
		run(exitUsage, says, args...)
	}
}

// TestKilledAtSystemCallsOfKeys kills a change of a store's key as it enters each of the system calls by which it replaces the file with the data
// keys. The store has one of the two keys then, and all that was acknowledged, and the change can be repeated.
func TestKilledAtSystemCallsOfKeys(t *testing.T) {
	needStrace(t)
	folder := t.TempDir()
	keys := []string{filepath.Join(folder, "first.key"), filepath.Join(folder, "second.key")}
	for _, key := range keys {
		if out, code := runToEnd(t, "key", "create", key); code != exitOK {
			t.Fatal(out)
		}
	}
	image := filepath.Join(folder, "store")
	p := startProcess(t, nil, badgerFlag(image), "--admin-listen=off", "--encryption-key-file="+keys[0])
	acked := putTexts(t, p, 0, 5)
	p.kill()
	old, killed := 0, 0
	for _, file := range []string{"KEYREGISTRY", "REWRITE-KEYREGISTRY", ""} {
		for _, call := range []string{"openat", "write", "fsync", "renameat", "renameat2"} {
			for n := 1; ; n++ {
				dir := filepath.Join(t.TempDir(), "store")
				if err := os.CopyFS(dir, os.DirFS(image)); err != nil {
					t.Fatal(err)
				}
				if !rotationKilledAt(t, dir, keys, file, call, n) {
					break
				}
				killed++
				opens := keys[1]
				if out, code := runToEnd(t, "repair", badgerFlag(dir), "--encryption-key-file="+keys[0]); code == exitOK {
					opens = keys[0]
					old++
				} else if !strings.Contains(out, "it is encrypted with another") {
					t.Errorf("%s of %q, %d: %s", call, file, n, out)
				}
				serveWithKey(t, dir, opens, acked)
				if out, code := runToEnd(t, "key", "rotate", keys[1], badgerFlag(dir), "--encryption-key-file="+keys[0]); code != exitOK {
					t.Errorf("%s of %q, %d, repeated: %s", call, file, n, out)
				}
				serveWithKey(t, dir, keys[1], acked)
			}
		}
	}
	if old == 0 || old == killed {
		t.Errorf("of %d that were killed %d have the old key: it shows little", killed, old)
	}
	t.Logf("%d were killed, %d of them before the new key was there", killed, old)
}

// rotationKilledAt changes the key of a store until one of the process's threads is killed at its n-th call of a kind that has to do with
// a file; false: none was.
func rotationKilledAt(t *testing.T, dir string, keys []string, file, call string, n int) bool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(callContext(t), "strace", "-f", "-o", os.DevNull, "-P", filepath.Join(dir, file), "-e", "trace="+call,
		"-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", call, n), self, "key", "rotate", keys[1], badgerFlag(dir), "--encryption-key-file="+keys[0])
	cmd.Env = append(os.Environ(), childVariable+"=1")
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.Exited()) {
		t.Fatalf("%v\n%s", err, out)
	}
	return err != nil
}

// serveWithKey starts a daemon over a store, which has all that was acknowledged.
func serveWithKey(t *testing.T, dir, key string, acked []string) {
	t.Helper()
	p := startProcess(t, nil, badgerFlag(dir), "--admin-listen=off", "--encryption-key-file="+key)
	findAll(t, transcriptv1.NewTranscriptServiceClient(p.dial(t)), acked)
	p.terminate(t)
}
