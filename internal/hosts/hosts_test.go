package hosts

import "testing"

// TestHas: a server is asked by its names, by localhost and by addresses, however they are written, and by nothing else.
func TestHas(t *testing.T) {
	names := Of("Listens.example.:7422", []string{"Given.example.", "port.example:7422"})
	for header, want := range map[string]bool{
		"localhost": true, "LOCALHOST.:80": true, "app.localhost": true, "127.0.0.1:80": true, "[::1]:80": true, "[::1]": true, "::1": true, "192.0.2.7": true, "": true, ":80": true,
		"listens.example:80": true, "GIVEN.example": true, "given.example.": true, "port.example": true,
		"attacker.example": false, "localhost.attacker.example": false, "given.example.attacker.example": false, "attacker.example:80:localhost": false, "notlocalhost": false,
		"[::1%25lo]": false, "[fe80::1%lo]:80": false, "0x7f.1": false, "2130706433": false, "127.1": false, "localhost,attacker.example": false, "localhost@attacker.example": false,
	} {
		if names.Has(header) != want {
			t.Errorf("%q: %v", header, !want)
		}
	}
}

// TestLocal: an address is of this machine alone, or other machines may reach it.
func TestLocal(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::1%lo": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "::": false, "192.0.2.7": false, "::ffff:192.0.2.7": false, "localhost.attacker.example": false, "app.localhost": false, "127.1": false, "example": false,
	} {
		if Local(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
