package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

// kind is what a name says of the value under it.
type kind uint8

const (
	none     kind = iota
	password      // chosen by people: any value will do
	secret        // a key or token whose name says so in full
	token         // the bare word, which also names the tokens of a parser or a model
	weak          // the name alone does not say enough; the value must look chosen or random
	invoice       // lightning's, not a shop's
	pin           // a few digits
	pass          // the bare word, which also counts tests
	phrase        // words in a row, or one that is no assembler mnemonic
	seed          // of a wallet, not of a random number generator
	group         // secrets under names that need not say so
	authz         // an authorization header: a scheme and a credential
	cookie        // name=value pairs
	query         // secret only as a parameter of a URL
	named         // the caller's: any value will do
	kinds    = iota
)

const (
	maxWords = 12
	maxName  = 96
)

// nameWords is a name split into lower-case words.
type nameWords struct {
	buf  [maxName]byte
	from [maxWords]uint8
	to   [maxWords]uint8
	n    int
}

func (w *nameWords) word(i int) []byte { return w.buf[w.from[i]:w.to[i]] }

// join gives the words from i on, joined with '_'.
func (w *nameWords) join(i int) string {
	var b strings.Builder
	for j := i; j < w.n; j++ {
		if j > i {
			b.WriteByte('_')
		}
		b.Write(w.word(j))
	}
	return b.String()
}

// splitWords splits at everything but letters and digits and where camelCase turns: "x-APIKey2" is x, api, key2. A name
// that is too long or has too many words has none.
func splitWords(name string) (w nameWords) {
	if len(name) > maxName {
		return nameWords{}
	}
	open := false
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !chars.IsAlnum(c) {
			open = false
			continue
		}
		if open && turns(name, i) {
			open = false
		}
		if !open {
			if w.n == maxWords {
				return nameWords{}
			}
			w.from[w.n] = uint8(i)
			w.n++
			open = true
		}
		w.buf[i] = chars.Lower(c)
		w.to[w.n-1] = uint8(i + 1)
	}
	return w
}

// turns says whether a word of camelCase begins at i > 0: aB, 2B, ABc (at B).
func turns(name string, i int) bool {
	if !chars.IsUpper(name[i]) {
		return false
	}
	if !chars.IsUpper(name[i-1]) {
		return true
	}
	return i+1 < len(name) && chars.IsLower(name[i+1]) && !(name[i+1] == 's' && (i+2 == len(name) || !chars.IsLower(name[i+2])))
}

// tails say nothing of what a name means: api_key_value, private_key_pem, DB_PASSWORD_PROD.
var tails = chars.Words(`value val string str raw plain plaintext text b64 base64 hex pem new old current prod production staging
	live test json bytes encoded decoded encrypted enc cleartext base data v1 v2 confirm confirmation repeat again block`)

// nouns end the names of secrets.
var nouns = map[string]kind{
	"password": password, "passwords": password, "passwd": password, "passcode": password, "pwd": password, "pswd": password,
	"passwort": password, "kennwort": password, "userpass": password, "dbpass": password, "psk": password, "requirepass": password,
	"masterauth": password, "passkey": weak,
	"passphrase": phrase, "passphrases": phrase, "pass": pass, "pw": pass,
	"secret": secret, "secrets": group, "token": token, "tokens": none, "jwt": secret, "macaroon": secret, "macaroons": secret,
	"preimage": secret, "preimages": secret, "bolt11": secret, "payreq": secret, "invoice": invoice, "invoices": invoice,
	"authorization": authz, "authorisation": authz, "auth": weak, "bearer": secret,
	"cookie": cookie, "cookies": cookie, "mnemonic": phrase, "mnemonics": phrase, "bip39": phrase, "seed": seed, "seeds": seed,
	"credential": group, "credentials": group, "creds": group, "cred": group,
	"otp": pin, "totp": pin, "pin": pin, "pincode": pin, "cvv": pin, "cvc": pin, "cvv2": pin,
	"key": none, "keys": none, "code": none, "codes": none, "phrase": none, "words": none, "request": none, "req": none, "hash": none,
	"word": none, "image": none, "images": none, "header": none, "headers": none,
	"apikey": secret, "apikeys": secret, "secretkey": secret, "privkey": secret, "privatekey": secret, "xprv": secret, "wif": weak,
	"assertion": weak, "sig": query, "signature": query, "sas": query, "sid": query, "ticket": query, "session": query,
	"sessionid": query, "hmac": query, "phpsessid": weak, "jsessionid": weak,
}

// glue is the end of a name.
type glue struct {
	end string
	k   kind
}

// glued are the ends of names written as one word: githubtoken, userpassword, stripeapikey.
var glued = []glue{
	{"password", password}, {"passwd", password}, {"passphrase", phrase}, {"apikey", secret}, {"accesskey", secret},
	{"secretkey", secret}, {"privatekey", secret}, {"privkey", secret}, {"signingkey", secret}, {"encryptionkey", secret},
	{"authkey", secret}, {"accountkey", secret}, {"masterkey", secret}, {"authtoken", secret}, {"accesstoken", secret},
	{"refreshtoken", secret}, {"idtoken", secret}, {"sessiontoken", secret}, {"bearertoken", secret}, {"apitoken", secret},
	{"csrftoken", secret}, {"xsrftoken", secret}, {"bottoken", secret}, {"usertoken", secret}, {"githubtoken", secret},
	{"gitlabtoken", secret}, {"npmtoken", secret}, {"slacktoken", secret}, {"securitytoken", secret}, {"clientsecret", secret},
	{"appsecret", secret}, {"apisecret", secret}, {"consumersecret", secret}, {"jwtsecret", secret}, {"authcookie", cookie},
	{"sessioncookie", cookie}, {"setcookie", cookie}, {"seedphrase", phrase}, {"recoveryphrase", phrase}, {"walletseed", seed},
	{"preimage", secret}, {"macaroon", secret}, {"mnemonic", phrase}, {"webhooksecret", secret}, {"sharedsecret", secret},
	{"secrettoken", secret},
}

// gluedByLast lists them by their last byte.
var gluedByLast = func() (t [256][]glue) {
	for _, g := range glued {
		last := g.end[len(g.end)-1]
		t[last] = append(t[last], g)
	}
	return t
}()

// notPassword stand before password in names of something else: forgotPassword, has_password.
var notPassword = chars.Words(`forgot forgotten reset change changed show hide toggle validate is has use uses needs need require
	requires required invalid wrong missing incorrect weak generate no without with can allow hash check verify per bad set
	get ask prompt enter enable disable min max`)

// notToken stand before token in names of something else: next_page_token, eosToken, max token.
var notToken = chars.Words(`page next nextpage continuation continue cursor sync eos bos pad unk mask sep cls special stop start end
	begin image audio input output prompt completion per first last num n max min total count cached reasoning prev previous
	peek lookahead lexer parser parse parsed scan keyword operator punctuation string number ident identifier design color
	theme word text sub vocab erc20 nft governance native pagination resume change delta watch skip marker single one
	unexpected expected unknown invalid illegal is has needs get set read make create validate verify each every more thinking
	done result progress cancellation budget used avg mean draft accepted css syntax ast terminal eof nil`)

// notSeed stand before seed in names of numbers that start a generator, and of the data a database is filled with first.
var notSeed = chars.Words(`random rng manual noise np numpy torch cuda tf jax data sampler sampling shuffle global base worker env
	init initial gen generation image latent variation sub split hash fixed db database dataset model llm prng train eval fuzz
	sim simulation map world level game`)

// keyWords stand before key where it is a secret.
var keyWords = chars.Words(`api access secret private priv signing encryption encrypt decryption decrypt master auth admin account
	storage subscription license licence app application rest rsa ecdsa ed25519 aes hmac jwt webhook shared consumer server
	client ingest ingestion write openai anthropic gemini stripe sendgrid mailgun vault unseal wallet fernet cookie django
	flask rails role passphrase deploy ssh root bot integration service crypto cipher symmetric recovery wireguard
	wg preshared psk`)

// codeWords stand before code where it is a secret.
var codeWords = chars.Words(`pin otp mfa 2fa fa tfa verification security backup recovery sms login passcode totp time unlock auth
	authorization confirmation activation`)

// phraseWords stand before phrase or words where it is a secret.
var phraseWords = chars.Words(`recovery seed secret backup mnemonic pass wallet`)

// passWords stand before pass where it is a password.
var passWords = chars.Words(`db database mysql smtp user admin root email mail imap ftp sftp ssh redis pg postgres mongo mongodb auth
	login proxy basic http sudo rabbitmq amqp ldap keystore truststore wifi vpn es elastic kafka jdbc account my the`)

// articles come before a name in prose and say nothing of it.
var articles = chars.Words(`a an the my your our his her their this that any no new old some with use using and or of for in to is as
	by if set get enter paste here following valid correct current user users`)

// classify says what a name means. Words before the last one narrow it; words that say nothing are cut from its end.
func (r *Redactor) classify(name string) kind {
	if len(name) < 2 || len(name) > maxName {
		return none
	}
	w := splitWords(name)
	for ; w.n > 0; w.n-- {
		if len(r.names) > 0 {
			for i := range w.n {
				if r.names[w.join(i)] {
					return named
				}
			}
		}
		if k, ok := w.kind(); ok {
			return k
		}
		if w.n == 1 || !tails[string(w.word(w.n-1))] {
			return none
		}
	}
	return none
}

// kind judges by the last word; false if it is not one that ends a secret's name.
func (w *nameWords) kind() (kind, bool) {
	if w.n == 0 {
		return none, false
	}
	last := trimDigits(w.word(w.n - 1))
	k, ok := nouns[string(last)]
	if !ok {
		if k, ok = gluedKind(last); !ok && w.n > 1 && w.from[w.n-1] == w.to[w.n-2] {
			return gluedKind(w.buf[w.from[w.n-2]:w.to[w.n-1]]) // APIkey, which is split before the I
		}
		return k, ok
	}
	var before []byte
	if w.n > 1 {
		before = trimDigits(w.word(w.n - 2))
		if articles[string(before)] && string(last) != "pass" {
			before = nil
		}
	}
	return refine(k, string(last), before, w.n), true
}

func gluedKind(last []byte) (kind, bool) {
	for _, g := range gluedByLast[last[len(last)-1]] {
		if len(last) >= len(g.end) && string(last[len(last)-len(g.end):]) == g.end {
			return g.k, true
		}
	}
	return none, false
}

// refine narrows what the last word says by the word before it (nil if there is none).
func refine(k kind, last string, before []byte, n int) kind {
	b := string(before)
	switch last {
	case "password", "passwords", "passwd", "pwd":
		return unless(notPassword[b], k)
	case "pass", "pw":
		return either(passWords[b], password, k)
	case "token":
		if notToken[b] {
			return none
		}
		return either(b != "", secret, token)
	case "tokens":
		return either(b != "" && strongToken[b], secret, none)
	case "secret":
		return unless(b == "is" || b == "has" || b == "no", k)
	case "key", "keys":
		if b == "session" {
			return weak
		}
		return either(keyWords[b], secret, none)
	case "code", "codes":
		return either(codeWords[b], pin, none)
	case "phrase", "words":
		return either(phraseWords[b], phrase, none)
	case "request", "req":
		return either(b == "payment" || b == "pay", secret, none)
	case "word":
		return either(b == "pass", password, none)
	case "image", "images":
		return either(b == "pre", secret, none)
	case "header", "headers":
		return headerKind(b)
	case "seed", "seeds":
		return unless(notSeed[b], k)
	case "hash":
		return either(b == "password" || b == "passwd", secret, none)
	case "id", "pin":
		return unless(n > 2, k)
	case "cookie", "cookies":
		return unless(b == "has" || b == "no", k)
	}
	return k
}

// headerKind is what a header holds, as far as its value is a secret.
func headerKind(b string) kind {
	switch nouns[b] {
	case authz, cookie:
		return nouns[b]
	default:
		return either(b == "auth", authz, none)
	}
}

// strongToken stand before tokens where they are secrets.
var strongToken = chars.Words(`access refresh auth api secret session bearer id bot user device push registration`)

func unless(not bool, k kind) kind {
	if not {
		return none
	}
	return k
}

func either[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

func trimDigits(w []byte) []byte {
	n := len(w)
	for n > 0 && chars.IsDigit(w[n-1]) {
		n--
	}
	if n == 0 || string(w) == "bolt11" || string(w) == "bip39" || string(w) == "erc20" || string(w) == "ed25519" {
		return w
	}
	return w[:n]
}
