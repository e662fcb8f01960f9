package tokens

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

// marked are the forms with a sign in the middle that tells them: what is headed before it, then the form, whose Also is
// of the whole token.
type marked struct {
	Head             Alphabet // of what stands before the form's prefix
	HeadMin, HeadMax int
	Form
}

var marks = []marked{
	{digits, 8, 10, Form{"Telegram", ":", dashed, 34, 36, telegram, "https://core.telegram.org/bots/api#authorizing-your-bot"}},
	{digits, 15, 16, Form{"Facebook", "|", dashed, 27, 40, randomAfterBar, "gitleaks facebook-access-token"}},
	{digits, 15, 16, Form{"Facebook", "%", dashed, 27, 42, randomAfterBar, "gitleaks facebook-access-token; the bar is often %7C"}},
	{alnum, 5, 5, Form{"Microsoft Entra", "~", tilded, 31, 34, azure, "gitleaks azure-ad-client-secret"}},
	{alnum, 6, 6, Form{"MaxMind", "_", word, 33, 33, maxMind, "gitleaks maxmind-license-key"}},
	{alnum, 14, 14, Form{"HashiCorp", ".atlasv1.", b64, 60, 70, random, "gitleaks hashicorp-tf-api-token"}},
	{alnum, 15, 15, Form{"Salesforce", "!", dotted, 80, 260, salesforce, "betterleaks salesforce-access-token"}},
	{headed, 22, 22, Form{"Tableau", "==:", alnum, 32, 32, random, "betterleaks tableau-personal-access-token"}},
	{alnum, 23, 28, Form{"Discord", ".", dotted, 34, 46, discordBot, "https://discord.com/developers/docs/reference#authentication"}},
}

// maxHead is the longest head of all.
const maxHead = 28

// marksBy lists the forms by the first byte of their marks, which no head has.
var marksBy = func() (table [256][]marked) {
	for _, m := range marks {
		table[m.Prefix[0]] = append(table[m.Prefix[0]], m)
	}
	return table
}()

// markedAt gives the end of the marked token at s[i], or 0.
func markedAt(s string, i int) int {
	mark := i
	for mark < len(s) && mark-i <= maxHead && headed(s[mark]) {
		mark++
	}
	if mark-i < 5 || mark == len(s) {
		return 0
	}
	for n := range marksBy[s[mark]] {
		if end := marksBy[s[mark]][n].endOf(s, i, mark); end > 0 {
			return end
		}
	}
	return 0
}

// endOf gives the end of the token at s[i] whose mark stands at s[mark], or 0.
func (m *marked) endOf(s string, i, mark int) int {
	if mark-i < m.HeadMin || mark-i > m.HeadMax || !strings.HasPrefix(s[mark:], m.Prefix) || !m.isHead(s[i:mark]) {
		return 0
	}
	end := m.follow(s, mark+len(m.Prefix))
	if end == 0 || !m.Also(s[i:end]) {
		return 0
	}
	return end
}

func (m *marked) isHead(t string) bool {
	for n := range len(t) {
		if !m.Head(t[n]) {
			return false
		}
	}
	return true
}

// telegram: the number of a bot and a key.
func telegram(t string) bool { return mixed(t[strings.IndexByte(t, ':'):]) }

// randomAfterBar: the number of an app and a key.
func randomAfterBar(t string) bool { return random(t[strings.LastIndexAny(t, "|%")+1:]) }

// azure: the fourth character is a digit, the fifth a Q.
func azure(t string) bool { return chars.IsDigit(t[3]) && t[4] == 'Q' && random(t) }

func maxMind(t string) bool { return strings.HasSuffix(t, "_mmk") && random(t) }

// salesforce: the id of an organization, and a key.
func salesforce(t string) bool { return strings.HasPrefix(t, "00") && random(t[16:]) }

// discordBot: an id in base64, which begins with a digit of it, a time of six characters, and a key.
func discordBot(t string) bool {
	id, rest, _ := strings.Cut(t, ".")
	time, key, _ := strings.Cut(rest, ".")
	return strings.IndexByte("MNO", id[0]) >= 0 && len(time) == 6 && len(key) >= 27 && !strings.Contains(key, ".") && randomPart(t)
}
