package chars

// How much of a text a rule looks at is bounded, so that the time stays linear.
const (
	MaxWord   = 256     // where within a word a token form may begin
	MaxShape  = 4096    // of a word, before it is a token
	MaxBlanks = 64      // between a name, its separator and its value
	MaxBare   = 512     // of an unquoted value in running text
	MaxQuote  = 1 << 16 // of a quoted value
	MaxHeader = 4096    // of a header's value, which can still be something else than a secret
)
