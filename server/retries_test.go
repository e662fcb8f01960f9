package server

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
)

// TestRetryTable: every error of the server has the code that the table of retries says of its reason.
func TestRetryTable(t *testing.T) {
	var want struct {
		Reasons []struct {
			Reason string     `json:"reason"`
			Code   codes.Code `json:"code"`
		} `json:"reasons"`
	}
	b, err := os.ReadFile("../proto/testdata/retries.json")
	if err == nil {
		err = json.Unmarshal(b, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]codes.Code{}
	for _, r := range want.Reasons {
		told[r.Reason] = r.Code
	}
	given := map[string]bool{}
	for _, r := range append(table(), internal()) {
		reason := strings.TrimPrefix(r.reason.String(), "ERROR_REASON_")
		given[reason] = true
		if code, ok := told[reason]; !ok || code != r.code {
			t.Errorf("%s is %v, and the table says %v", reason, r.code, code)
		}
	}
	for reason := range told {
		if !given[reason] {
			t.Errorf("%s is in the table, and the server never gives it", reason)
		}
	}
}
