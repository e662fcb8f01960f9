package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// setRows bounds the bytes of the rows that a call makes the store write: it commits some 5 MB at once.
const setRows = 2 << 20

// aliasRestorer sets aliases of archives, many in a call. Their nodes are there.
type aliasRestorer struct {
	to *client.Client
	// namespace is the one that they are restored to.
	namespace    string
	waiting      []*transcriptv1.ArchiveAlias
	states       int
	bytes, inAll int
	// set counts those that were not there as the archive has them.
	set int64
}

// add sets an alias, now or with later ones.
func (r *aliasRestorer) add(ctx context.Context, a *transcriptv1.ArchiveAlias) error {
	states, bytes, rows := len(a.GetStates()), proto.Size(a), rowsOf(a)
	if len(r.waiting) == setAliases || r.states+states > setStates || r.bytes+bytes > setBytes || r.inAll+rows > setRows {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	r.waiting, r.states, r.bytes, r.inAll = append(r.waiting, a), r.states+states, r.bytes+bytes, r.inAll+rows
	return nil
}

// rowsOf is about how many bytes the rows of an alias take: each has the whole name. There are one for the alias, one for its head, up to eight by the
// folders that the name is in, and one for each state; those that are there already are deleted beside.
func rowsOf(a *transcriptv1.ArchiveAlias) int {
	const rows, beside = 10, 64
	return proto.Size(a) + (len(a.GetName())+beside)*(rows+2*len(a.GetStates()))
}

// flush sets the aliases that wait.
func (r *aliasRestorer) flush(ctx context.Context) error {
	if len(r.waiting) == 0 {
		return nil
	}
	err := r.send(ctx, r.waiting)
	r.waiting, r.states, r.bytes, r.inAll = r.waiting[:0], 0, 0, 0
	return err
}

// send sets aliases in one call, and where that is too large, in two. An error names the alias that it is about.
func (r *aliasRestorer) send(ctx context.Context, aliases []*transcriptv1.ArchiveAlias) error {
	set, err := r.to.Restore(ctx, nil, aliases...)
	if half := len(aliases) / 2; half > 0 && errors.Is(err, client.ErrLimitExceeded) {
		if err := r.send(ctx, aliases[:half]); err != nil {
			return err
		}
		return r.send(ctx, aliases[half:])
	}
	r.set += int64(set)
	if err == nil {
		return nil
	}
	return r.named(err, aliases)
}

// inWords is a field of a call, such as aliases[3].labels, with the name of the alias; another field is as it is.
func (r *aliasRestorer) inWords(field string, aliases []*transcriptv1.ArchiveAlias) string {
	number, rest, _ := strings.Cut(strings.TrimPrefix(field, "aliases["), "]")
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= len(aliases) {
		return field
	}
	words := "alias " + name(aliases[i].GetName()) + " of namespace " + r.namespace
	if rest = strings.TrimPrefix(rest, "."); rest != "" {
		words = rest + " of " + words
	}
	return words
}

// named is an error of a call with the names of aliases in place of their numbers in the call. Where an alias is not of the past of the archive's, it says
// what can be done: the restore cannot go on.
func (r *aliasRestorer) named(err error, aliases []*transcriptv1.ArchiveAlias) error {
	var remote *client.Error
	if !errors.As(err, &remote) {
		return err
	}
	told := *remote
	told.Violations, told.Conflicts = slices.Clone(remote.Violations), slices.Clone(remote.Conflicts)
	for i := range told.Violations {
		field := &told.Violations[i].Field
		words := r.inWords(*field, aliases)
		told.Message, *field = strings.ReplaceAll(told.Message, *field, words), words
	}
	for i := range told.Conflicts {
		told.Conflicts[i].Field = r.inWords(told.Conflicts[i].Field, aliases)
	}
	if !errors.Is(err, client.ErrAliasMoved) {
		return &told
	}
	return &suggestion{err: &told, text: "The store has gone on since the backup was made: what its aliases point to stays. " +
		"To have the backup's beside it, restore into a name that is new, with --map FROM=TO.", sure: true}
}
