package values

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/names"
)

// leastDigits of a whole number that is a secret under a name; none where there is no row. What is shorter counts, switches or
// limits something. A seed of less, or a date, starts a generator; longer ones do too, beside the parameters of a model.
var leastDigits = [names.Kinds]int{names.PIN: 4, names.Password: 4, names.Phrase: 4, names.Authz: 4, names.Cookie: 4, names.Secret: 5, names.Token: 6, names.Pass: 6, names.Group: 6, names.Seed: 8, names.Named: 1}

func IsSecretNumber(t string, k names.Kind) bool {
	if k == names.Named && t != "" && (t[0] == '-' || chars.IsDigit(t[0])) {
		return true
	}
	digits := strings.TrimPrefix(t, "-")
	least := leastDigits[k]
	return least > 0 && len(digits) >= least && chars.DigitsEnd(digits, 0) == len(digits) && !(k == names.Seed && isDate(digits))
}

// isDate: 20260301.
func isDate(digits string) bool {
	return len(digits) == 8 && (digits[:2] == "19" || digits[:2] == "20") && digits[4:6] <= "12" && digits[6:] <= "31"
}

// IsCode says whether s[j:end] are the six to eight digits of a code that is sent to people, and nothing else.
func IsCode(s string, j, end int) bool {
	return end-j >= 6 && end-j <= 8 && (end == len(s) || !chars.IsAlnum(s[end]) && strings.IndexByte("-_/:%$", s[end]) < 0) && !isDate(s[j:end])
}
