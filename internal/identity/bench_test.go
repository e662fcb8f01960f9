package identity

import "testing"

// BenchmarkAuthenticate is what telling who calls takes, by what is shown.
func BenchmarkAuthenticate(b *testing.B) {
	ec, stranger := newEC(b, "k1"), newEC(b, "made-up")
	token := NewToken()
	_, trusts, err := parse([]byte(sso(`"jwks_file":"k"`)))
	if err != nil {
		b.Fatal(err)
	}
	set, err := parseKeys([]byte(keysFile(b, ec)))
	if err != nil {
		b.Fatal(err)
	}
	trusts.jwt.keys = keysOfFile{set}
	trusts.tokens[HashToken(token)] = heldToken{who: &Principal{Name: "agents"}}
	for _, c := range []struct {
		name, shown string
		forget      bool
		want        error
	}{
		{"token", token, false, nil},
		{"JWT remembered", ec.sign(b, good(), nil), false, nil},
		{"JWT seen first", ec.sign(b, good(), nil), true, nil},
		{"JWT forged", newEC(b, "k1").sign(b, good(), nil), true, ErrUnauthenticated},
		{"JWT of an unknown key", stranger.sign(b, good(), nil), true, ErrUnauthenticated},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if c.forget {
					trusts.jwt.remembered.by, trusts.jwt.forged.n = nil, 0
				}
				if _, err := trusts.byHeader("Bearer "+c.shown, noon); err != c.want {
					b.Fatal(err)
				}
			}
		})
	}
}
