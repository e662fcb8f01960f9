package tests

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/client"
)

// built are the programs that the tests run, built once.
var built struct {
	daemon, agent func() (string, error)
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "reply-chain")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.daemon = sync.OnceValues(func() (string, error) {
		if named := os.Getenv("TRANSCRIPTD"); named != "" {
			return named, nil
		}
		return build(dir, filepath.Join("..", "..", ".."), "./cmd/transcriptd")
	})
	built.agent = sync.OnceValues(func() (string, error) { return build(dir, filepath.Join("..", "go"), ".") })
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// build builds a program of a folder into another.
func build(into, in, name string) (string, error) {
	binary := filepath.Join(into, filepath.Base(filepath.Join(in, name)))
	cmd := exec.Command("go", "build", "-o", binary, name)
	cmd.Dir = in
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s in %s: %w\n%s", name, in, err, out)
	}
	return binary, nil
}

// daemon is a transcriptd with a store on the disk, which can be killed and started again.
type daemon struct {
	t     *testing.T
	store string
	addr  string
	cmd   *exec.Cmd
}

var serves = regexp.MustCompile(`serves gRPC on (\S+?);`)

func startDaemon(t *testing.T) *daemon {
	t.Helper()
	d := &daemon{t: t, store: t.TempDir(), addr: "127.0.0.1:0"}
	d.start()
	t.Cleanup(d.kill)
	return d
}

// start starts the daemon, at the address that it had before, and waits until it serves.
func (d *daemon) start() {
	binary, err := built.daemon()
	if err != nil {
		d.t.Error(err)
		return
	}
	d.cmd = exec.Command(binary, "--listen="+d.addr, "--admin-listen=off", "--store=badger://"+d.store)
	errors, err := d.cmd.StderrPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		d.t.Error(err)
		return
	}
	addr := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(errors); lines.Scan(); {
			if found := serves.FindStringSubmatch(lines.Text()); found != nil {
				addr <- found[1]
			}
		}
		close(addr)
	}()
	select {
	case found, ok := <-addr:
		if !ok {
			d.t.Error("transcriptd ended before it served")
		} else if found != d.addr {
			d.addr = found
		}
	case <-time.After(30 * time.Second):
		d.t.Error("transcriptd does not serve after 30 s")
	}
}

// kill ends the daemon at once.
func (d *daemon) kill() {
	if d.cmd.Process != nil {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
	}
}

// client is a client of a namespace, which looks what is there.
func (d *daemon) client(t *testing.T, namespace string) *client.Client {
	t.Helper()
	c, err := client.Dial(d.addr, client.WithNamespace(namespace), client.WithVerification())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
