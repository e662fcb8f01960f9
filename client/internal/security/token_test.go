package security

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTokenFile: a new token is shown within a second, and the last one while there is none.
func TestTokenFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		f := &TokenFile{Name: name}
		shows := func(want string) {
			t.Helper()
			if got, err := f.Token(t.Context()); got != want || err != nil {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		}
		for _, bad := range []string{"", " \n", "two words", "Bearer x", "a\x00b", "ä"} {
			write(bad)
			if got, err := f.Token(t.Context()); err == nil || !strings.Contains(err.Error(), name) || bad != "" && strings.Contains(err.Error(), bad) {
				t.Errorf("%q: %q, %v", bad, got, err)
			}
		}
		write("\tfirst\r\n")
		shows("first")
		write("second")
		shows("first")
		<-time.After(tokenEvery)
		shows("second")
		for _, gone := range []func(){func() { write("") }, func() { _ = os.Remove(name) }} {
			gone()
			<-time.After(10 * tokenEvery)
			shows("second")
		}
		write("third")
		<-time.After(tokenEvery)
		shows("third")
	})
}
