package main

import (
	"context"
	"errors"
	"strings"

	"github.com/transcriptd/transcriptd/client"
)

// The length of an id in digits, and of its shortest prefix that the server takes.
const (
	idDigits     = 64
	prefixDigits = 6
)

// aliasMark is before an alias that could be taken for an id.
const aliasMark = "alias:"

// ref is the node that a REF on the command line names. What could be the beginning of an id is looked up as one, and
// is an alias where no node has it and there is such an alias. An id that ref gives is whole.
func (s *session) ref(ctx context.Context, text string) (client.Ref, error) {
	alias, marked := strings.CutPrefix(text, aliasMark)
	id, forced := strings.CutPrefix(text, nodeMark)
	switch {
	case alias == "" || id == "":
		return client.Ref{}, usagef("a REF must not be empty: it is an id, 6 or more of its first digits, or an alias")
	case marked:
		return client.ByAlias(s.looked(alias)), nil
	case len(id) == idDigits && isHex(id):
		return client.ByID(id), nil
	case forced && idMistake(id) != "":
		return client.Ref{}, usagef("%s", idMistake(id))
	case forced && !isHex(id):
		return client.Ref{}, usagef("node: goes with an id, or with 6 or more of its first digits")
	case !forced && (!isHex(id) || len(id) < prefixDigits || len(id) > idDigits):
		return client.ByAlias(s.looked(text)), nil
	}
	if !forced {
		s.looked(text)
	}
	n, err := s.NodeInfo(ctx, client.ByID(id))
	if !forced && errors.Is(err, client.ErrNodeNotFound) {
		if _, noAlias := s.Resolve(ctx, text); noAlias == nil {
			return client.ByAlias(text), nil
		}
	}
	return client.ByID(n.GetInfo().GetNodeId()), err
}

// id is the id of the node that a REF on the command line names.
func (s *session) id(ctx context.Context, text string) (string, error) {
	ref, err := s.ref(ctx, text)
	if err != nil {
		return "", err
	}
	n, err := s.NodeInfo(ctx, ref)
	return n.GetInfo().GetNodeId(), err
}

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s != ""
}
