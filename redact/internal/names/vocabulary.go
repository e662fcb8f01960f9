package names

import (
	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

// tails say nothing of what a name means: api_key_value, private_key_pem, DB_PASSWORD_PROD.
var tails = chars.Words(`value val string str raw plain plaintext text b64 base64 hex pem new old current prod production staging
	live test json bytes encoded decoded encrypted enc cleartext base data v1 v2 confirm confirmation repeat again block`)

// nouns end the names of secrets.
var nouns = map[string]Kind{
	"password": Password, "passwords": Password, "passwd": Password, "passcode": Password, "pwd": Password, "pswd": Password,
	"passwort": Password, "kennwort": Password, "userpass": Password, "dbpass": Password, "psk": Password, "requirepass": Password,
	"masterauth": Password, "passkey": Weak,
	"passphrase": Phrase, "passphrases": Phrase, "pass": Pass, "pw": Pass,
	"secret": Secret, "secrets": Group, "token": Token, "tokens": None, "jwt": Secret, "macaroon": Secret, "macaroons": Secret,
	"preimage": Secret, "preimages": Secret, "bolt11": Secret, "payreq": Secret, "invoice": Invoice, "invoices": Invoice,
	"authorization": Authz, "authorisation": Authz, "auth": Weak, "bearer": Secret,
	"cookie": Cookie, "cookies": Cookie, "mnemonic": Phrase, "mnemonics": Phrase, "bip39": Phrase, "seed": Seed, "seeds": Seed,
	"credential": Group, "credentials": Group, "creds": Group, "cred": Group,
	"otp": PIN, "totp": PIN, "pin": PIN, "pincode": PIN, "cvv": PIN, "cvc": PIN, "cvv2": PIN,
	"key": None, "keys": None, "code": None, "codes": None, "phrase": None, "words": None, "request": None, "req": None, "hash": None,
	"word": None, "image": None, "images": None, "header": None, "headers": None,
	"apikey": Secret, "apikeys": Secret, "secretkey": Secret, "privkey": Secret, "privatekey": Secret, "xprv": Secret, "wif": Weak,
	"assertion": Weak, "sig": Query, "signature": Query, "sas": Query, "sid": Query, "ticket": Query, "session": Query,
	"sessionid": Query, "hmac": Query, "phpsessid": Weak, "jsessionid": Weak,
}

// glue is the end of a name.
type glue struct {
	end string
	k   Kind
}

// glued are the ends of names written as one word: githubtoken, userpassword, stripeapikey.
var glued = []glue{
	{"password", Password}, {"passwd", Password}, {"passphrase", Phrase}, {"apikey", Secret}, {"accesskey", Secret},
	{"secretkey", Secret}, {"privatekey", Secret}, {"privkey", Secret}, {"signingkey", Secret}, {"encryptionkey", Secret},
	{"authkey", Secret}, {"accountkey", Secret}, {"masterkey", Secret}, {"authtoken", Secret}, {"accesstoken", Secret},
	{"refreshtoken", Secret}, {"idtoken", Secret}, {"sessiontoken", Secret}, {"bearertoken", Secret}, {"apitoken", Secret},
	{"csrftoken", Secret}, {"xsrftoken", Secret}, {"bottoken", Secret}, {"usertoken", Secret}, {"githubtoken", Secret},
	{"gitlabtoken", Secret}, {"npmtoken", Secret}, {"slacktoken", Secret}, {"securitytoken", Secret}, {"clientsecret", Secret},
	{"appsecret", Secret}, {"apisecret", Secret}, {"consumersecret", Secret}, {"jwtsecret", Secret}, {"authcookie", Cookie},
	{"sessioncookie", Cookie}, {"setcookie", Cookie}, {"seedphrase", Phrase}, {"recoveryphrase", Phrase}, {"walletseed", Seed},
	{"preimage", Secret}, {"macaroon", Secret}, {"mnemonic", Phrase}, {"webhooksecret", Secret}, {"sharedsecret", Secret},
	{"secrettoken", Secret},
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

// StrongToken stand before tokens where they are secrets.
var StrongToken = chars.Words(`access refresh auth api secret session bearer id bot user device push registration`)
