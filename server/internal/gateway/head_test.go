package gateway

import (
	"math"
	"net/http"
	"testing"
	"time"
)

// TestTimeouts: a call has the time that its header says, in the way of its form, and a header that says none is refused.
func TestTimeouts(t *testing.T) {
	for form, texts := range map[string]map[string]time.Duration{
		formJSON: {"0": 0, "1": time.Millisecond, "9999999999": 9999999999 * time.Millisecond, "10000000000": -1, "": -1, "-1": -1, "+1": -1, " 1": -1, "1.5": -1, "1e3": -1, "0x1": -1, "1S": -1},
		formWebProto: {
			"0n": 0, "1n": 1, "2u": 2 * time.Microsecond, "3m": 3 * time.Millisecond, "4S": 4 * time.Second, "5M": 5 * time.Minute, "6H": 6 * time.Hour,
			"99999999S": 99999999 * time.Second, "99999999H": math.MaxInt64 / time.Hour * time.Hour, "99999999M": 99999999 * time.Minute,
			"": -1, "5": -1, "S": -1, "5s": -1, "-1S": -1, "+1S": -1, "1SS": -1, "100000000S": -1, "000000001S": -1, "1 S": -1, "1.5S": -1,
		},
	} {
		for text, want := range texts {
			name := map[bool]string{true: "Grpc-Timeout", false: "Connect-Timeout-Ms"}[isWeb(form)]
			r := (&http.Request{Header: http.Header{name: {text}}}).WithContext(t.Context())
			before := time.Now()
			ctx, cancel, err := deadline(r, form)
			if err != nil || want < 0 {
				if err == nil || want >= 0 {
					t.Errorf("%s %q: %v", form, text, err)
				}
				continue
			}
			at, _ := ctx.Deadline()
			if got := at.Sub(before); got < want || got-want > time.Minute {
				t.Errorf("%s %q: %v, want %v", form, text, got, want)
			}
			if goesOn := len(r.Header) > 0; goesOn != (want <= longestTimeout) {
				t.Errorf("%s %q goes on: %v", form, text, goesOn)
			}
			cancel()
		}
	}
}
