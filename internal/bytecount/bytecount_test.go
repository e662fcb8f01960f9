package bytecount

import "testing"

// TestCount: numbers with and without a unit are read, and nothing else is.
func TestCount(t *testing.T) {
	for text, want := range map[string]Count{
		"0": 0, "20000000": 20_000_000, "64KiB": 64 << 10, "500 MiB": 500 << 20, "1GiB": 1 << 30, "8388607TiB": 8388607 << 40, "9223372036854775807": 1<<63 - 1,
	} {
		var c Count
		if err := c.UnmarshalText([]byte(text)); err != nil || c != want {
			t.Errorf("%q: %d, %v", text, c, err)
		}
	}
	for _, text := range []string{"", "-1", "MiB", "20MB", "20mib", "1.5GiB", "1GiB/s", "8388608TiB", "9223372036854775808"} {
		c := Count(7)
		if err := c.UnmarshalText([]byte(text)); err == nil || c != 7 {
			t.Errorf("%q is read as %d", text, c)
		}
	}
}
