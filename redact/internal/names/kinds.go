// Package names says what the names of values mean: which are names of secrets, and of what kind. It sees no values.
package names

// Kind is what a name says of the value under it.
type Kind uint8

// What a name can say.
const (
	None     Kind   = iota
	Password        // chosen by people: any value will do
	Secret          // a key or token whose name says so in full
	Token           // the bare word, which also names the tokens of a parser or a model
	Weak            // the name alone does not say enough; the value must look chosen or random
	Invoice         // lightning's, not a shop's
	PIN             // a few digits
	Pass            // the bare word, which also counts tests
	Phrase          // words in a row, or one that is no assembler mnemonic
	Seed            // of a wallet, not of a random number generator
	Group           // secrets under names that need not say so
	Authz           // an authorization header: a scheme and a credential
	Cookie          // name=value pairs
	Query           // secret only as a parameter of a URL
	Named           // the caller's: any value will do
	Kinds    = iota // how many there are
)
