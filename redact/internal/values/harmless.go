package values

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
	"github.com/transcriptd/transcriptd/redact/internal/names"
)

// typeWords are types, states and other words that stand where a value could.
var typeWords = chars.Words(`string str text char varchar bytes byte number int integer float bool boolean object array list map dict any
	unknown never void null nil none undefined true false yes no on off required optional hidden masked redacted omitted
	removed default missing invalid empty unset n/a na tbd todo include same-origin inherit env file vault
	interface{} []byte *string string? optional[str] placeholder basic bearer uuid enabled disabled always auto manual
	keychain keyring prompt stdin omit`)

// Harmless says whether t stands for a value and is none: a type, a placeholder, a template, the name itself.
func Harmless(t, name string) bool {
	if len(t) <= 16 && typeWords[strings.ToLower(t)] {
		return true
	}
	if isJoin(t) || chars.SameLetters(t, "[redacted]") || IsFiller(t) || IsTemplate(t) || isPlaceholder(t) {
		return true
	}
	if sameWords(t, name) {
		return true
	}
	return looks.IsScreaming(t) && strings.IndexByte(t, '_') > 0 && names.Of(t) != names.None
}

// isVersion: 1.2.3, ^0.5.0, >=12.20.0: packages are called cookie, token and secret.
func isVersion(t string) bool {
	v := strings.TrimLeft(t, "~^<>=v ")
	dots := 0
	for i := 0; i < len(v); i++ {
		if v[i] == '.' {
			dots++
		} else if !chars.IsDigit(v[i]) && v[i] != 'x' && v[i] != '*' {
			return false
		}
	}
	return dots >= 2 || dots == 1 && len(v) < len(t)
}

// isJoin says whether what seems to be a string are the signs and names between two: `"token":"` + x + `"`.
func isJoin(t string) bool {
	n := len(t) - 1
	return n > 3 && chars.IsQuote(t[0]) && chars.IsQuote(t[n]) && strings.HasPrefix(t[1:], " + ") && strings.HasSuffix(t[:n], " + ")
}

// IsFiller says whether t is one character over and over, or dots and stars before a rest that is shown on purpose (****1234).
func IsFiller(t string) bool {
	n := 0
	for n < len(t) && (t[n] == '*' || t[n] == '.' || t[n] == '#' || t[n] == '-' || t[n] == '_' || t[n] == '?') {
		n++
	}
	if n >= 3 && len(t)-n <= 4 || n == len(t) {
		return true
	}
	if strings.HasPrefix(t, "…") || strings.HasPrefix(t, "•") || strings.HasPrefix(t, "●") {
		return true
	}
	if len(t) < 3 {
		return false
	}
	c := chars.Lower(t[0])
	return (c == 'x' || c == '0') && strings.Count(strings.ToLower(t), string(c)) >= len(t)-strings.Count(t, "-")
}

// IsTemplate says whether t is a template: ${X}, $X, $1, $(cmd), {{ x }}, {x}, <x>, %s, %(x)s, [x].
func IsTemplate(t string) bool {
	n := len(t)
	if n > chars.MaxBare {
		return false
	}
	if n < 2 {
		return t == "$" || t == "%" || t == "<" || t == "{"
	}
	switch t[0] {
	case '$':
		return t[1] == '{' || t[1] == '(' || looks.IsIdent(t[1:]) || n == 2 && strings.IndexByte("123456789@*#?$!", t[1]) >= 0
	case '{':
		return t[n-1] == '}' || t[1] == '{'
	case '<':
		return t[n-1] == '>' || !strings.ContainsAny(t, "0123456789")
	case '%':
		return n <= 3 || t[1] == '(' || t[n-1] == '%' && looks.IsIdent(t[1:n-1])
	case '#':
		return n > 2 && t[1] == '{'
	case '[':
		return t[n-1] == ']'
	case '\\':
		return strings.IndexByte("wWdDsSb", t[1]) >= 0 // a regular expression
	}
	return strings.HasSuffix(t, "}}") && strings.Contains(t, "{{") || strings.HasSuffix(t, "...") && n < 16
}

// isDollarWord: a password like $wordfish, in quotes; variables are in upper case, short, or names of secrets.
func isDollarWord(t string) bool {
	return len(t) > 4 && t[0] == '$' && looks.IsIdent(t[1:]) && !looks.IsScreaming(t[1:]) && !namesSecret(t[1:])
}

// isPlaceholder: your-api-key, YOUR_TOKEN_HERE, insert_key, replace-me.
func isPlaceholder(t string) bool {
	if len(t) > 64 {
		return false
	}
	l := strings.ToLower(t)
	for _, p := range [...]string{"your-", "your_", "your ", "yourtoken", "yourapi", "yoursecret", "yourpassword", "insert-", "insert_",
		"insert ", "replace-", "replace_", "replace ", "enter-", "enter_", "enter ", "add-your", "put-your", "paste"} {
		if strings.HasPrefix(l, p) {
			return true
		}
	}
	return strings.HasSuffix(l, "_here") || strings.HasSuffix(l, "-here")
}

// IsReference says whether unquoted text is an expression of source text: a.b, a->b, a[1], f, &x, or a word of the language.
func IsReference(t string) bool {
	if len(t) > chars.MaxBare {
		return false
	}
	t = strings.TrimLeft(t, "&*@!(")
	if t == "" || IsTemplate(t) || t[0] == '$' || t[0] == '%' && !isPercented(t) {
		return true
	}
	return IsStopWord(t) || isExpression(t) || t[len(t)-1] == ']' && isIndexed(t)
}

// isPercented says whether t begins with a character as URLs write it: %2F, %7B.
func isPercented(t string) bool {
	return len(t) > 2 && t[0] == '%' && chars.IsHex(t[1]) && chars.IsHex(t[2])
}

// isExpression says the same without the words of the language.
func isExpression(t string) bool {
	if IsTemplate(t) || len(t) > chars.MaxBare {
		return len(t) <= chars.MaxBare
	}
	dots := 0
	for i := 0; i < len(t); i++ {
		switch {
		case t[i] == '.' || t[i] == ':' && i+1 < len(t) && t[i+1] == ':' || t[i] == '-' && i+1 < len(t) && t[i+1] == '>':
			if i == 0 || i+1 == len(t) || chars.IsDigit(t[i+1]) {
				return false
			}
			dots++
		case !chars.IsAlnum(t[i]) && t[i] != '_' && t[i] != ':' && t[i] != '>' && t[i] != '?' && t[i] != '!':
			return false
		}
	}
	return dots > 0 && !looks.Random(t) && chars.IsAlpha(t[0]) && (len(t) < 64)
}

// isTypeName: SecretStr, TYPE_STRING, String!, uint64, &str, Vec<u8>.
func isTypeName(t string) bool {
	if looks.IsScreaming(t) && strings.IndexByte(t, '_') > 0 {
		return !looks.Mixed(t)
	}
	t = strings.TrimRight(strings.TrimLeft(t, "&*?"), "!?")
	if typeWords[strings.ToLower(t)] || isSized(t) || isIndexed(t) {
		return true
	}
	if !looks.IsWord(t) || !chars.IsUpper(t[0]) {
		return false
	}
	for _, part := range [...]string{"Str", "String", "Type", "Text", "Field", "Value", "Ref", "Schema", "Input", "Token", "Secret", "Key",
		"Password", "Bytes", "Config", "Manager", "Provider", "Info", "Response", "Request", "Credentials", "Data", "Source", "Options"} {
		if strings.HasSuffix(t, part) {
			return true
		}
	}
	return false
}

// isIndexed: Vec<u8>, List[str], parts[1].
func isIndexed(t string) bool {
	n := strings.IndexAny(t, "<[(")
	return n > 0 && looks.IsIdent(strings.ReplaceAll(t[:n], ".", "_")) && strings.IndexByte(">])", t[len(t)-1]) >= 0
}

// isTag: a kind of values in YAML, which stands before one: !vault, !secret.
func isTag(t string) bool {
	return t[0] == '!' && looks.IsIdent(t[1:]) && !strings.ContainsAny(t, "0123456789")
}

// isSized: a type with its number of bits or bytes: u8, int64, uint256, bytes32.
func isSized(t string) bool {
	l := strings.ToLower(t)
	switch strings.TrimRight(l, "0123456789") {
	case "i", "u", "f", "int", "uint", "float", "bytes", "usize", "isize":
		return true
	}
	return false
}

// namesSecret says whether unquoted text is a name of a secret in source rather than one: userToken, jwt_secret.
func namesSecret(t string) bool {
	return looks.IsIdent(t) && names.Of(t) != names.None
}

// isVariable says the same of text that may as well be a password made of words: newPassword, not my_password.
func isVariable(t string) bool {
	return chars.IsLower(t[0]) && looks.IsWord(t) && looks.IsCamel(t) && namesSecret(t)
}

// scopeWords are permissions, which stand after the names of what they permit: id-token: write.
var scopeWords = chars.Words(`read write admin create delete update list manage full session cookie header query body lax strict jwt
	oauth oauth2 saml ldap rbac abac pass passed fail failed skipped done fixed`)

// syntaxWords are the kinds of tokens that parsers and editors tell apart.
var syntaxWords = chars.Words(`keyword comment constant variable operator identifier ident punctuation punc entity storage support
	delimiter whitespace newline literal symbol word paren lparen rparen bracket brace comma colon semicolon tag attribute function
	meta markup invisible regexp regex return import eof eol lexer parser token`)

// isSyntax says whether t is a kind of token, by itself or the first of several (keyword.operator), or its colour.
func isSyntax(t string) bool {
	if t[0] == '#' && len(t) <= 9 {
		return true
	}
	first, _, _ := strings.Cut(t, ".")
	return len(first) <= 16 && syntaxWords[strings.ToLower(first)]
}

// isConstant: EOF, IDENT, as parsers call their tokens.
func isConstant(t string) bool { return len(t) < 8 && looks.IsScreaming(t) && looks.IsWord(t) }

// isDotted: words with dots between them of which one has a digit within: a password rather than a.b.c of source text.
func isDotted(t string) bool {
	return strings.IndexByte(t, '.') > 0 && strings.ContainsAny(t, "0123456789") && !strings.Contains(t, "->")
}

// stopWords are words of prose and of programming languages that follow a name without being its value.
var stopWords = chars.Words(`a an the is are was were be to or and in for with from as if when then on of by via at it its this that
	these those which who must should can cannot could will would may might not no yes has have had does do did done
	instead only also without within into than but so such how what where why option flag argument parameter param
	value values field fields header headers env file files variable name names type types set unset get new old
	required optional invalid valid missing wrong incorrect correct expired rejected accepted changed reset updated
	stored hashed encrypted verified protected based auth authentication authorization string str bytes int number
	bool true false null nil none undefined void let const var return func def class struct await async self this
	error err errors failed failure success ok found here there above below both either each every all any some
	using used use uses user users manager managers generation management policy rotation reuse store string,
	available unavailable disabled enabled input output length strength check field. only, sent provided given
	issued generated created needed accept see eg e.g. i.e. etc like per via after before during until while
	please enter your my our his her their them they you we default public private shared example test testing
	interface any unknown object array list map dict optional[str] varchar text keyof typeof prompt for:`)

// IsStopWord says whether t is one of them.
func IsStopWord(t string) bool { return stopWords[strings.ToLower(t)] }

// isPath: /a/b, ./a, ~/a, C:\a, a URL without what its own rules take.
func isPath(t string) bool {
	if len(t) < 2 || len(t) > chars.MaxBare || chars.HasSpace(t) {
		return false
	}
	if strings.Contains(t, "://") && !strings.HasPrefix(t, "otpauth") {
		return true
	}
	if t[0] == '/' && (chars.IsAlpha(t[1]) || t[1] == '.') || strings.HasPrefix(t, "./") || strings.HasPrefix(t, "~/") || strings.HasPrefix(t, "../") {
		return looks.Entropy(t) < 4.6 && wordyPath(t)
	}
	return len(t) > 3 && chars.IsAlpha(t[0]) && t[1] == ':' && t[2] == '\\'
}

// isFile says whether a value is the path of a file and not a key in base64 that begins with a '/'.
func isFile(t string) bool {
	return isPath(t) && (t[0] == '.' || t[0] == '~' || !looks.Random(t))
}

// wordyPath: no part of a path is as long as a key.
func wordyPath(t string) bool {
	run := 0
	for i := 0; i < len(t); i++ {
		if chars.IsAlnum(t[i]) {
			run++
		} else {
			run = 0
		}
		if run > 24 {
			return false
		}
	}
	return true
}

// sameWords: a value that is its own name in another spelling (apiKey: "api_key", password: "Password").
func sameWords(t, name string) bool {
	if len(t) > names.MaxName || name == "" {
		return false
	}
	return chars.SameLetters(t, name)
}
