package runloop

import (
	"encoding/json"
	"strconv"
	"strings"
)

// MinSaving is the least that a line, or marks in the arguments of a call, must save where results are cleared, in bytes. Part of the
// storage format: must not change.
const MinSaving = 200

// maxValue is the longest string value that stays in arguments that are shortened, in bytes as written. Part of the storage format.
const maxValue = 200

// Savings are what each of a message's calls would save if its arguments were shortened, in bytes: 0 where that is less than MinSaving;
// nil where it is for all.
type Savings []int

// ShortenArguments shortens the arguments of a call: in a JSON object each string value over 200 bytes, as written between the quotes,
// becomes "[N bytes left out]", at any depth; all else stays. What is no JSON object becomes {"left_out": "N bytes"}. false, and the
// arguments as they were, where that saves less than MinSaving.
func ShortenArguments(arguments string) (short string, shortened bool) {
	var b strings.Builder
	if saving(arguments, func(s string) { b.WriteString(s) }) == 0 {
		return arguments, false
	}
	return b.String(), true
}

// SavingOf is what ShortenArguments saves; 0 where it leaves the arguments as they are.
func SavingOf(arguments string) int { return saving(arguments, func(string) {}) }

// saving is SavingOf; write is given what the arguments become, piece by piece, also where that saves too little.
func saving(arguments string, write func(string)) int {
	if len(arguments) < MinSaving {
		return 0
	}
	saves := len(arguments)
	shorten(arguments, func(s string) { saves -= len(s); write(s) })
	if saves < MinSaving {
		return 0
	}
	return saves
}

// shorten passes on what arguments become, piece by piece.
func shorten(arguments string, write func(string)) {
	object := strings.HasPrefix(strings.TrimLeft(arguments, " \t\r\n"), "{") && json.Valid([]byte(arguments))
	if !object {
		write(`{"left_out": "` + strconv.Itoa(len(arguments)) + ` bytes"}`)
		return
	}
	done := 0
	for at := strings.IndexByte(arguments, '"'); at >= 0; {
		end := at + 1 + endOfString(arguments[at+1:])
		if end-at-1 > maxValue && !isKey(arguments[end+1:]) {
			write(arguments[done : at+1])
			write("[" + strconv.Itoa(end-at-1) + " bytes left out]")
			done = end
		}
		next := strings.IndexByte(arguments[end+1:], '"')
		if next < 0 {
			break
		}
		at = end + 1 + next
	}
	write(arguments[done:])
}

// endOfString is where the quote is that ends a JSON string which s begins within.
func endOfString(s string) int {
	at := 0
	for s[at] != '"' {
		if s[at] == '\\' {
			at++
		}
		at++
	}
	return at
}

// isKey tells whether the JSON string before rest is a key.
func isKey(rest string) bool {
	return strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), ":")
}
