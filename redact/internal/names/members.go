package names

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

// IsPlural tells cookies by their names from the settings of one, and from the package that is called so.
func IsPlural(name string) bool { return strings.HasSuffix(name, "s") || strings.HasSuffix(name, "S") }

// Inherits are members of an object under a secret name that hold the secret itself: {"password": {"value": "…"}}.
var Inherits = chars.Words(`value val plain plaintext raw text content data current secret key token string`)

// NameMembers and ValueMembers are the halves of a pair written as an object: {"name": "DB_PASSWORD", "value": "…"}.
var (
	NameMembers  = chars.Words(`name key field header variable var parameter param label id k n`)
	ValueMembers = chars.Words(`value val content data v plaintext string secretvalue stringvalue`)
)

// about are the last words of members that say something of a secret without being one, and of JSON schemas.
var about = chars.Words(`type types title description label name names id ids kind source sources path file files filename uri url urls
	ref env required optional placeholder help hint message messages error errors code codes status pattern format minlength maxlength
	length username user users email host hostname domain port region zone created updated modified expires expiry expiration at
	on in scope scopes algorithm alg iss issuer audience provider service version permissions role roles policy policies samesite
	priority size unit mode state enabled project tenant tenants account namespace target external driver engine backend
	properties items enum examples oneof anyof allof comment comments note reason strength class method strategy
	flow flows language date time endpoint location profile charset age ttl timeout max min limit count interval
	integrity resolved license digest checksum sha256 labels annotations metadata tags aud azp sub exp iat nbf jti cid uid gid
	agent shape member members input output operation wrapper order nargs choices`)

// IsAbout says whether a member of an object under a secret name is beside the secret: {"secrets": {"provider": "vault"}}.
func IsAbout(member string) bool {
	w := split(member)
	return w.n == 0 || about[string(w.word(w.n-1))]
}

// Carries says whether members of an object under a name of kind k hold secrets though their names do not say so:
// {"secrets": {"db": "…"}}.
func Carries(k Kind) bool {
	return k == Password || k == Secret || k == Group || k == Phrase || k == Seed || k == Cookie || k == Token
}

// actions begin the names of calls: {"GetPassword": {"shape": "…"}}.
var actions = chars.Words(`get list create delete update describe put batch post patch generate exchange validate verify revoke rotate
	associate disassociate sign import export`)

// IsAction says whether a name is that of a call.
func IsAction(name string) bool {
	w := split(name)
	return w.n > 1 && actions[string(w.word(0))]
}

const maxFold = 24

// Fold lowers a short name and drops what is not a letter.
func Fold(name string) string {
	if len(name) > maxFold {
		return ""
	}
	var buf [maxFold]byte
	n := 0
	for i := 0; i < len(name); i++ {
		if chars.IsAlpha(name[i]) {
			buf[n] = chars.Lower(name[i])
			n++
		}
	}
	return string(buf[:n])
}
