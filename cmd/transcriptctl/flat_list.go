package main

import (
	"bytes"
	"fmt"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// flatList is a conversation as a list of messages, in which opaque messages have their places.
type flatList struct {
	messages [][]byte
	// tools and opaque tell which are results and which are opaque: no view of a request shows these.
	tools, opaque []bool
	// starts has, by node, where its messages begin in the list.
	starts map[string]int
}

func (f *flatList) add(id string, node []*transcriptv1.Message) {
	f.starts[id] = len(f.messages)
	for _, m := range node {
		f.messages = append(f.messages, canonical.AppendMessage(nil, m))
		f.tools = append(f.tools, m.GetRole() == transcriptv1.Role_ROLE_TOOL)
		f.opaque = append(f.opaque, canonical.IsOpaque(m))
	}
}

// repair is a place where an effective view differs from the list: it leaves the message out, or has so many stubs before
// it, at least one.
type repair struct{ message, stubs int }

// count is how many messages a repair adds or leaves out.
func (r repair) count() int { return max(1, r.stubs) }

// repairs are the places where a view differs from the list, in order. Where it differs by anything but results left out
// and stubs added, the error is errUnexplained.
//
//	list  u c1 c2 r2 r9 a       view  u c1 c2 r2 +1 a       repairs  {message 5, stubs 1}, {message 4}
func (f *flatList) repairs(shown [][]byte) (found []repair, err error) {
	at := 0
	for _, m := range shown {
		at = f.pastOpaque(at)
		if at < len(f.messages) && bytes.Equal(m, f.messages[at]) {
			at++
			continue
		}
		if isStub(m) {
			found = addStub(found, f.spoken(at))
			continue
		}
		for at < len(f.messages) && f.tools[at] && !bytes.Equal(m, f.messages[at]) {
			found = append(found, repair{message: at})
			at = f.pastOpaque(at + 1)
		}
		if at == len(f.messages) || !bytes.Equal(m, f.messages[at]) {
			return nil, fmt.Errorf("%w: message %d", errUnexplained, at)
		}
		at++
	}
	for at = f.pastOpaque(at); at < len(f.messages); at = f.pastOpaque(at + 1) {
		if !f.tools[at] {
			return nil, fmt.Errorf("%w: message %d", errUnexplained, at)
		}
		found = append(found, repair{message: at})
	}
	return found, nil
}

// pastOpaque is the first message from at on that is not opaque.
func (f *flatList) pastOpaque(at int) int {
	for at < len(f.messages) && f.opaque[at] {
		at++
	}
	return at
}

// spoken is the first message from at on that is neither a result nor opaque: the one that ended a group.
func (f *flatList) spoken(at int) int {
	for at < len(f.messages) && (f.tools[at] || f.opaque[at]) {
		at++
	}
	return at
}

// addStub adds a stub before a message.
func addStub(found []repair, message int) []repair {
	if n := len(found); n > 0 && found[n-1].message == message && found[n-1].stubs > 0 {
		found[n-1].stubs++
		return found
	}
	return append(found, repair{message: message, stubs: 1})
}

func isStub(message []byte) bool {
	m, err := canonical.DecodePayload(message)
	return err == nil && len(m) == 1 && m[0].GetOrigin() == transcriptv1.Origin_ORIGIN_STUB
}
