package providerjson

// Report tells what a conversion changed, in the order of the messages. The zero Report says that nothing was.
type Report struct {
	// Changes are the changes.
	Changes []Change
}

// Add appends a change.
func (r *Report) Add(c Change) { r.Changes = append(r.Changes, c) }

// ChangeKind says what was changed.
type ChangeKind string

// The kinds of change.
const (
	// Surrogates: lone surrogates in a string became U+FFFD; Count tells how many. Reading only.
	Surrogates ChangeKind = "surrogates"
	// Inexact: the provider's format has no place for this, so that reading what was written gives something else.
	// Format only.
	Inexact ChangeKind = "inexact"
	// LeftOut: not written. ForModel; Format, of what is a framework's own; and anthropic.Parse for members of a request that are no
	// messages.
	LeftOut ChangeKind = "left_out"
	// Replaced: something else was written in its place; To tells what, where it is short. ForModel only.
	Replaced ChangeKind = "replaced"
	// Renamed: a call id or a name that the provider refuses became another: From and To. ForModel only.
	Renamed ChangeKind = "renamed"
	// Joined: written as part of the provider's message before it. ForModel only.
	Joined ChangeKind = "joined"
	// Moved: written in another place. ForModel only.
	Moved ChangeKind = "moved"
	// Added: a result was written for a call that has none; Path is the call. ForModel only.
	Added ChangeKind = "added"
)

// Change is one thing that a conversion changed.
type Change struct {
	// Path is where: a member of the provider's JSON when reading ("messages[3].content[0].text"), a field of the
	// given messages when writing ("messages[3].parts[0]").
	Path string
	// Kind says what.
	Kind ChangeKind
	// From and To are what it was and what it became, where both are short: call ids and names. An absent id is "".
	From, To string
	// Count is how many, where that can be more than one.
	Count int
	// Why is the provider's rule, in a few words; never content.
	Why string
}
