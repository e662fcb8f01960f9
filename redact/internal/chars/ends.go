package chars

// SkipBlanks passes the blanks at i, at most MaxBlanks of them.
func SkipBlanks(s string, i int) int {
	for n := 0; i < len(s) && n < MaxBlanks && IsBlank(s[i]); n++ {
		i++
	}
	return i
}

// DigitsEnd gives the end of the digits at i.
func DigitsEnd(s string, i int) int {
	for i < len(s) && IsDigit(s[i]) {
		i++
	}
	return i
}

// SkipSpace passes the white space at i.
func SkipSpace(s string, i int) int {
	for i < len(s) && IsSpace(s[i]) {
		i++
	}
	return i
}

// Base64End gives the end of the base64 at i, of at most so many bytes.
func Base64End(s string, i, most int) int {
	from := i
	for i < len(s) && i-from < most && InBase64(s[i]) {
		i++
	}
	return i
}
