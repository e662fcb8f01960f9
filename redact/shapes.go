package redact

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/lines"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
)

// shape is a secret known by how it begins: prefix, then at least min bytes of an alphabet.
type shape struct {
	prefix string
	chars  alphabet
	min    int
	max    int               // 0: no bound; more bytes of the alphabet than max are no match
	also   func(string) bool // of what follows the prefix; nil: nothing more
}

// alphabet says which bytes a shape is made of.
type alphabet func(byte) bool

func alnum(c byte) bool  { return chars.IsAlnum(c) }
func word(c byte) bool   { return chars.InWord(c) }
func dashed(c byte) bool { return chars.InDashed(c) }
func dotted(c byte) bool { return chars.InDotted(c) }
func b64(c byte) bool    { return chars.InBase64(c) }
func hexa(c byte) bool   { return chars.IsHex(c) }
func caps(c byte) bool   { return chars.IsUpper(c) || chars.IsDigit(c) }
func quoted(c byte) bool { return dotted(c) || c == '%' || c == '+' || c == '/' || c == '=' }
func b58(c byte) bool    { return chars.IsAlnum(c) && c != '0' && c != 'O' && c != 'I' && c != 'l' }
func path(c byte) bool   { return dashed(c) || c == '/' || c == '@' }
func bech32(c byte) bool {
	c = chars.Lower(c)
	return chars.IsAlnum(c) && c != '1' && c != 'b' && c != 'i' && c != 'o'
}

// shapes are tried in order at every start of a word. Ids that are public (AC… of Twilio, pk_live_… of Stripe, public keys)
// are not among them.
var shapes = []shape{
	// models
	{prefix: "sk-ant-", chars: dashed, min: 16}, {prefix: "sk-proj-", chars: dashed, min: 16},
	{prefix: "sk-svcacct-", chars: dashed, min: 16}, {prefix: "sk-admin-", chars: dashed, min: 16},
	{prefix: "sk-or-v1-", chars: dashed, min: 16}, {prefix: "sk-lf-", chars: dashed, min: 16}, {prefix: "sk-", chars: dashed, min: 16, also: keyPart},
	{prefix: "hf_", chars: alnum, min: 24}, {prefix: "gsk_", chars: alnum, min: 32}, {prefix: "xai-", chars: alnum, min: 40},
	{prefix: "pplx-", chars: alnum, min: 32}, {prefix: "r8_", chars: alnum, min: 32}, {prefix: "tvly-", chars: dashed, min: 20, also: keyPart},
	{prefix: "nvapi-", chars: dashed, min: 40}, {prefix: "lsv2_", chars: word, min: 32}, {prefix: "fw_", chars: alnum, min: 22, also: looks.Mixed},
	// code hosts and registries
	{prefix: "ghp_", chars: alnum, min: 20}, {prefix: "gho_", chars: alnum, min: 20}, {prefix: "ghu_", chars: alnum, min: 20},
	{prefix: "ghs_", chars: alnum, min: 20}, {prefix: "ghr_", chars: alnum, min: 20}, {prefix: "github_pat_", chars: word, min: 22},
	{prefix: "glpat-", chars: dotted, min: 16}, {prefix: "gldt-", chars: dashed, min: 16}, {prefix: "glrt-", chars: dotted, min: 16},
	{prefix: "glft-", chars: dashed, min: 16}, {prefix: "glsoat-", chars: dashed, min: 16}, {prefix: "glcbt-", chars: dashed, min: 16},
	{prefix: "glptt-", chars: dashed, min: 32}, {prefix: "glimt-", chars: dashed, min: 16}, {prefix: "gloas-", chars: dashed, min: 32},
	{prefix: "glagent-", chars: dashed, min: 32}, {prefix: "ATBB", chars: alnum, min: 28, max: 40, also: looks.Mixed},
	{prefix: "ATATT3", chars: b64, min: 60}, {prefix: "ATCTT3", chars: b64, min: 60}, {prefix: "npm_", chars: alnum, min: 36, max: 40},
	{prefix: "pypi-AgE", chars: dashed, min: 40}, {prefix: "rubygems_", chars: hexa, min: 48}, {prefix: "cio", chars: alnum, min: 32, max: 32, also: looks.Mixed},
	{prefix: "dckr_pat_", chars: dashed, min: 20}, {prefix: "dckr_oat_", chars: dashed, min: 20}, {prefix: "oy2", chars: alnum, min: 43, max: 43, also: looks.Mixed},
	{prefix: "sgp_", chars: word, min: 40}, {prefix: "lin_api_", chars: alnum, min: 32}, {prefix: "lin_oauth_", chars: alnum, min: 32},
	// clouds
	{prefix: "AKIA", chars: caps, min: 16, max: 16}, {prefix: "ASIA", chars: caps, min: 16, max: 16}, {prefix: "ABIA", chars: caps, min: 16, max: 16},
	{prefix: "ACCA", chars: caps, min: 16, max: 16}, {prefix: "IQoJb3JpZ2lu", chars: b64, min: 80}, {prefix: "FwoGZXIvYXdz", chars: b64, min: 80},
	{prefix: "ABSK", chars: b64, min: 100}, {prefix: "AIza", chars: dashed, min: 35, max: 35}, {prefix: "ya29.", chars: dotted, min: 20},
	{prefix: "GOCSPX-", chars: dashed, min: 24}, {prefix: "1//0", chars: dashed, min: 30}, {prefix: "LTAI", chars: alnum, min: 17, max: 26, also: looks.Mixed},
	{prefix: "dop_v1_", chars: hexa, min: 64}, {prefix: "doo_v1_", chars: hexa, min: 64}, {prefix: "dor_v1_", chars: hexa, min: 64},
	{prefix: "tskey-", chars: dashed, min: 20}, {prefix: "fo1_", chars: dashed, min: 40}, {prefix: "fm2_", chars: b64, min: 80},
	{prefix: "sbp_", chars: hexa, min: 40}, {prefix: "pscale_", chars: dotted, min: 32}, {prefix: "hvs.", chars: dashed, min: 24},
	{prefix: "hvb.", chars: dashed, min: 24}, {prefix: "hvr.", chars: dashed, min: 24}, {prefix: "dp.pt.", chars: alnum, min: 40},
	{prefix: "dp.st.", chars: dotted, min: 40}, {prefix: "dp.ct.", chars: alnum, min: 40}, {prefix: "ops_eyJ", chars: b64, min: 100},
	{prefix: "dapi", chars: hexa, min: 32, max: 32}, {prefix: "pul-", chars: hexa, min: 40, max: 40}, {prefix: "HRKU-", chars: dashed, min: 30},
	// messages, money, monitoring
	{prefix: "xoxb-", chars: dashed, min: 16}, {prefix: "xoxp-", chars: dashed, min: 16}, {prefix: "xoxa-", chars: dashed, min: 16},
	{prefix: "xoxr-", chars: dashed, min: 16}, {prefix: "xoxs-", chars: dashed, min: 16}, {prefix: "xoxc-", chars: dashed, min: 16},
	{prefix: "xoxd-", chars: quoted, min: 16}, {prefix: "xoxe-", chars: dashed, min: 16}, {prefix: "xoxe.xox", chars: dashed, min: 16},
	{prefix: "xapp-", chars: dashed, min: 24}, {prefix: "SG.", chars: dotted, min: 40, also: looks.Mixed}, {prefix: "SK", chars: hexa, min: 32, max: 32, also: looks.Mixed},
	{prefix: "sk_live_", chars: word, min: 16}, {prefix: "sk_test_", chars: word, min: 16}, {prefix: "rk_live_", chars: word, min: 16},
	{prefix: "rk_test_", chars: word, min: 16}, {prefix: "whsec_", chars: b64, min: 20}, {prefix: "sk_prod_", chars: word, min: 16},
	{prefix: "shpat_", chars: hexa, min: 32}, {prefix: "shpca_", chars: hexa, min: 32}, {prefix: "shppa_", chars: hexa, min: 32},
	{prefix: "shpss_", chars: hexa, min: 32}, {prefix: "sq0atp-", chars: dashed, min: 22}, {prefix: "sq0csp-", chars: dashed, min: 40},
	{prefix: "key-", chars: hexa, min: 32, max: 32}, {prefix: "xkeysib-", chars: dashed, min: 60}, {prefix: "re_", chars: word, min: 30, also: looks.Mixed},
	{prefix: "EAA", chars: alnum, min: 80, also: looks.Mixed}, {prefix: "ntn_", chars: alnum, min: 40}, {prefix: "secret_", chars: alnum, min: 40, max: 48},
	{prefix: "figd_", chars: dashed, min: 36}, {prefix: "PMAK-", chars: dashed, min: 50}, {prefix: "NRAK-", chars: caps, min: 27},
	{prefix: "glsa_", chars: word, min: 32}, {prefix: "glc_eyJ", chars: b64, min: 32}, {prefix: "sntrys_", chars: b64, min: 40},
	{prefix: "sntryu_", chars: hexa, min: 64}, {prefix: "phx_", chars: alnum, min: 40}, {prefix: "pat-na1-", chars: dashed, min: 32},
	{prefix: "pat-eu1-", chars: dashed, min: 32}, {prefix: "shippo_live_", chars: hexa, min: 40}, {prefix: "EZAK", chars: alnum, min: 54, max: 54},
	{prefix: "duffel_live_", chars: dashed, min: 40}, {prefix: "APA91b", chars: dashed, min: 100}, {prefix: "pnu_", chars: alnum, min: 36},
	{prefix: "xoxo-", chars: dashed, min: 16}, {prefix: "rk_prod_", chars: word, min: 16}, {prefix: "shippo_test_", chars: hexa, min: 40},
	{prefix: "duffel_test_", chars: dashed, min: 40}, {prefix: "EZTK", chars: alnum, min: 54, max: 54}, {prefix: "FLWSECK", chars: dashed, min: 16},
	{prefix: "eyJrIjoi", chars: b64, min: 60}, {prefix: "dt0c01.", chars: dotted, min: 80}, {prefix: "sm_aat_", chars: alnum, min: 16},
	{prefix: "sm_pat_", chars: alnum, min: 16}, {prefix: "sm_sat_", chars: alnum, min: 16}, {prefix: "sl.", chars: dashed, min: 120, also: looks.Mixed},
	{prefix: "pat", chars: dotted, min: 79, max: 79, also: looks.Mixed}, {prefix: "webhook.office.com/webhookb2/", chars: path, min: 60},
	// more hosts and tools
	{prefix: "glffct-", chars: dashed, min: 16}, {prefix: "GR1348941", chars: dashed, min: 20}, {prefix: "AKCp", chars: alnum, min: 60, also: looks.Mixed},
	{prefix: "cmVmd", chars: alnum, min: 59, also: looks.Mixed}, {prefix: "CLOJARS_", chars: alnum, min: 60}, {prefix: "api_org_", chars: alnum, min: 30},
	{prefix: "ico-", chars: alnum, min: 32, max: 32, also: looks.Mixed}, {prefix: "sha256~", chars: dashed, min: 40}, {prefix: "rdme_", chars: alnum, min: 60},
	{prefix: "tk-us-", chars: dashed, min: 40}, {prefix: "sat.", chars: dotted, min: 60, also: looks.Mixed}, {prefix: "atlasv1.", chars: b64, min: 50},
	{prefix: "API-", chars: caps, min: 26, max: 26, also: looks.Mixed}, {prefix: "A3-", chars: dashed, min: 30, max: 40, also: looks.Mixed},
	{prefix: "p8e-", chars: alnum, min: 32, max: 32}, {prefix: "4b1d", chars: alnum, min: 38, max: 38, also: looks.TurnsOften},
	{prefix: "bedrock-api-key-", chars: b64, min: 20}, {prefix: "v1.0-", chars: dashed, min: 150, also: looks.Mixed}, {prefix: "fio-u-", chars: b64, min: 60},
	{prefix: "s-s4t2", chars: dashed, min: 60},
	// coins and keys
	{prefix: "xprv", chars: b58, min: 100}, {prefix: "tprv", chars: b58, min: 100}, {prefix: "yprv", chars: b58, min: 100},
	{prefix: "zprv", chars: b58, min: 100}, {prefix: "uprv", chars: b58, min: 100}, {prefix: "vprv", chars: b58, min: 100},
	{prefix: "nsec1", chars: bech32, min: 58, max: 58}, {prefix: "ncryptsec1", chars: bech32, min: 100},
	{prefix: "AGE-SECRET-KEY-1", chars: caps, min: 50}, {prefix: "AGE-PLUGIN-", chars: dashed, min: 60},
	{prefix: "5", chars: b58, min: 50, max: 50, also: wif}, {prefix: "K", chars: b58, min: 51, max: 51, also: wif},
	{prefix: "L", chars: b58, min: 51, max: 51, also: wif}, {prefix: "c", chars: b58, min: 51, max: 51, also: wif},
	{prefix: "lnbc", chars: alnum, min: 60, also: bolt11}, {prefix: "lntb", chars: alnum, min: 60, also: bolt11},
	{prefix: "LNBC", chars: alnum, min: 60, also: bolt11}, {prefix: "LNTB", chars: alnum, min: 60, also: bolt11},
	{prefix: "lnsb", chars: alnum, min: 60, also: bolt11}, {prefix: "lntbs", chars: alnum, min: 60, also: bolt11},
	{prefix: "lnurl1", chars: bech32, min: 40}, {prefix: "LNURL1", chars: bech32, min: 40}, {prefix: "lni1", chars: bech32, min: 60},
}

// byFirst lists the shapes that begin with a byte.
var byFirst = func() (t [256][]shape) {
	for _, s := range shapes {
		t[s.prefix[0]] = append(t[s.prefix[0]], s)
	}
	return t
}()

// shapeAt gives the end of the secret that begins at s[i:], or 0. The byte before i is not of a word, or is '_', '-' or '.'.
func shapeAt(s string, i int) int {
	for _, sh := range byFirst[s[i]] {
		if strings.HasPrefix(s[i:], sh.prefix) {
			if end := sh.match(s, i+len(sh.prefix)); end > 0 {
				return end
			}
		}
	}
	switch {
	case s[i] == 'e' && strings.HasPrefix(s[i:], "eyJ"):
		return jwt(s, i)
	case s[i] == 'L' && strings.HasPrefix(s[i:], "LS0tLS1CRUdJTi"), s[i] == 'C' && strings.HasPrefix(s[i:], "Ci0tLS0tQkVHSU4g"):
		return pemInBase64(s, i)
	case chars.IsDigit(s[i]):
		return telegram(s, i)
	case s[i] == 'h' && strings.HasPrefix(s[i:], "hooks.slack.com/"):
		return hook(s, i, "hooks.slack.com/", 30)
	case s[i] == 'd' && strings.HasPrefix(s[i:], "discord"):
		return discord(s, i)
	}
	return 0
}

func (sh *shape) match(s string, from int) int {
	end := from
	for end < len(s) && end-from < chars.MaxShape && sh.chars(s[end]) {
		end++
		if sh.max > 0 && end-from > sh.max {
			return 0
		}
	}
	least, whole := sh.min, end
	for end > from && (s[end-1] == '.' || s[end-1] == '-') {
		end--
	}
	switch n := end - from; {
	case n >= least:
	case n*4 >= least*3 && len(sh.prefix) > 2 && isCutOff(s, end) && looks.Random(s[from-len(sh.prefix):end]):
		least = n
	case whole-from >= least:
		end = from + least // a key may end in a sign
	}
	if end-from < least || sh.also != nil && !sh.also(s[from:min(end, from+chars.MaxBare)]) {
		return 0
	}
	if sh.max > 0 && end < len(s) && chars.IsAlnum(s[end]) {
		return 0
	}
	for end-from >= chars.MaxShape && end < len(s) && sh.chars(s[end]) {
		end++
	}
	return end
}

// keyPart: one of the parts between dashes is a key's, not a word of a class name (sk-folding-cube).
func keyPart(t string) bool {
	for p := range strings.FieldsFuncSeq(t, func(r rune) bool { return r == '-' || r == '_' }) {
		if len(p) >= 12 && looks.Mixed(p) || len(p) >= 32 {
			return true
		}
	}
	return false
}

// bolt11: an amount, the separator 1, and bech32 to the end.
func bolt11(t string) bool {
	t = strings.ToLower(t)
	t = strings.TrimPrefix(t, "rt") // lnbcrt
	t = strings.TrimPrefix(t, "s")  // lntbs
	n := 0
	for n < len(t) && chars.IsDigit(t[n]) && !(t[n] == '1' && onlyBech32(t[n+1:])) {
		n++
	}
	if n > 0 && n < len(t) && strings.IndexByte("munp", t[n]) >= 0 {
		n++
	}
	return n < len(t) && t[n] == '1' && onlyBech32(t[n+1:])
}

func onlyBech32(t string) bool {
	for i := 0; i < len(t); i++ {
		if !bech32(t[i]) {
			return false
		}
	}
	return len(t) >= 50
}

// wif: the letters and digits of 32 random bytes, not of a word or a hash.
func wif(t string) bool { return looks.Entropy(t) >= 4.3 && looks.Mixed(t) && looks.TurnsOften(t) }

// jwt: three parts of base64url (five, encrypted), the first a JSON object; the last may be empty or cut off.
func jwt(s string, i int) int {
	end, parts := i, 0
	for parts < 5 {
		from := end
		for end < len(s) && dashed(s[end]) && (parts > 0 || end-from < chars.MaxShape) {
			end++
		}
		if parts++; parts <= 2 && end-from < 8 {
			return 0
		}
		if end+1 >= len(s) || s[end] != '.' || !dashed(s[end+1]) && parts != 2 {
			break
		}
		end++
	}
	if parts < 2 && !(end-i >= 20 && isCutOff(s, end) && isHead(s[i:end])) {
		return 0
	}
	return end
}

// isHead says whether base64 of JSON is the first part of a JWT: its first member is alg, typ or kid.
func isHead(t string) bool {
	return strings.HasPrefix(t, "eyJhbGci") || strings.HasPrefix(t, "eyJ0eXAi") || strings.HasPrefix(t, "eyJraWQi")
}

// isCutOff says whether a word that ends at i was longer: it is the last of a text, or dots stand for the rest.
func isCutOff(s string, i int) bool {
	rest := strings.TrimLeft(s[i:min(len(s), i+chars.MaxBlanks)], " \t\r\n\"'`")
	if rest == "" {
		return len(s)-i < chars.MaxBlanks
	}
	rest = strings.TrimLeft(rest, "[(<")
	return strings.HasPrefix(rest, "…") || strings.HasPrefix(rest, "...") || strings.Contains(chars.FirstLine(rest), "truncated")
}

// minLine is the least that a line of base64 has before it goes on in another.
const minLine = 60

// pemInBase64 gives the end of base64 of a private key in PEM at i, which may go on over lines; 0 if it is none.
func pemInBase64(s string, i int) int {
	front := lines.Front(s, i)
	line, end := i, chars.Base64End(s, i, chars.MaxWord)
	head, _ := base64.RawStdEncoding.DecodeString(s[i : i+min(end-i, 64)/4*4]) // as far as it decodes
	if !bytes.Contains(head, []byte("PRIVATE KEY-----")) {
		return 0
	}
	for {
		if end = chars.Base64End(s, end, len(s)); end-line < minLine {
			return end
		}
		if line = lines.Next(s, end, front); line == end {
			return end
		}
		next := chars.Base64End(s, line, len(s))
		if next == line || next < len(s) && !chars.IsSpace(s[next]) && !chars.IsQuote(s[next]) {
			return end
		}
		end = next
	}
}

// telegram: ten digits, a colon and 35 characters.
func telegram(s string, i int) int {
	end := i
	for end < len(s) && chars.IsDigit(s[end]) && end-i <= 11 {
		end++
	}
	if end-i < 8 || end-i > 10 || end == len(s) || s[end] != ':' {
		return 0
	}
	from := end + 1
	for end = from; end < len(s) && dashed(s[end]) && end-from <= 36; end++ {
	}
	if end-from < 34 || end-from > 36 || !looks.Mixed(s[from:end]) {
		return 0
	}
	return end
}

// hook: a URL without its scheme whose path is the secret.
func hook(s string, i int, prefix string, min int) int {
	end := i + len(prefix)
	for end < len(s) && (dashed(s[end]) || s[end] == '/') {
		end++
	}
	if end-i-len(prefix) < min || !strings.ContainsAny(s[i:end], "0123456789") {
		return 0
	}
	return end
}

func discord(s string, i int) int {
	for _, p := range [...]string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"} {
		if strings.HasPrefix(s[i:], p) {
			return hook(s, i, p, 60)
		}
	}
	return 0
}
