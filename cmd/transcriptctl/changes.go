package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/client/openai"
)

// notStored is the kind of change that a member of a line is not kept.
const notStored openai.ChangeKind = "not_stored"

// maxPlaces is how many places of a kind of change are told, maxMembers how many names of members.
const (
	maxPlaces  = 3
	maxMembers = 20
)

// changed is what conversions changed of one kind, as json has it.
type changed struct {
	Kind openai.ChangeKind `json:"kind"`
	// Member is the name of a member that is not stored.
	Member string `json:"member,omitempty"`
	Count  int64  `json:"occurrences,string"`
	// Places are the first of them: the conversation's, and where in its messages.
	Places []string `json:"places"`
	orders []int64
}

// changes are what conversions changed, by kind. They tell places, never content.
type changes struct {
	kinds []*changed
	// places finds what is told of a path; nil before the first.
	places *regexp.Regexp
	// more counts the members beyond maxMembers.
	more int64
}

// add counts a change. order is that of the conversations, which come in any.
func (c *changes) add(order int64, kind openai.ChangeKind, member, place string) {
	at := slices.IndexFunc(c.kinds, func(k *changed) bool { return k.Kind == kind && k.Member == member })
	if at < 0 {
		if member != "" && len(c.kinds) >= maxMembers {
			c.more++
			return
		}
		at = len(c.kinds)
		c.kinds = append(c.kinds, &changed{Kind: kind, Member: member})
	}
	k := c.kinds[at]
	k.Count++
	before := len(k.orders)
	for before > 0 && k.orders[before-1] > order {
		before--
	}
	if before < maxPlaces {
		k.orders, k.Places = slices.Insert(k.orders, before, order), slices.Insert(k.Places, before, place)
		k.orders, k.Places = k.orders[:min(len(k.orders), maxPlaces)], k.Places[:min(len(k.Places), maxPlaces)]
	}
}

// report counts what a report of one conversation tells.
func (c *changes) report(order int64, conversation string, report openai.Report) {
	for _, change := range report.Changes {
		c.add(order, change.Kind, "", strings.TrimSpace(conversation+" "+c.placeOf(change.Path)))
	}
}

// list are the changes in an order that does not depend on that of the conversations.
func (c *changes) list() []*changed {
	slices.SortFunc(c.kinds, func(a, b *changed) int {
		return strings.Compare(string(a.Kind)+" "+a.Member, string(b.Kind)+" "+b.Member)
	})
	return c.kinds
}

// remark tells of each kind on standard error.
func (c *changes) remark(s *session) {
	for _, k := range c.list() {
		where := make([]string, len(k.Places))
		for i, place := range k.Places {
			where[i] = name(place)
		}
		s.remark("%s: %s", k.text(), strings.Join(where, ", "))
	}
	if c.more > 0 {
		s.remark("members with other names that are not stored: %d", c.more)
	}
}

// text is what was changed, and how often.
func (k *changed) text() string {
	first := ""
	if k.Count > maxPlaces {
		first = fmt.Sprintf(", the first %d", maxPlaces)
	}
	switch k.Kind {
	case openai.Surrogates:
		return fmt.Sprintf("lone surrogates in %s became U+FFFD%s", count(k.Count, "string"), first)
	case notStored:
		return fmt.Sprintf("the member %s of %s is not stored%s", name(k.Member), count(k.Count, "line"), first)
	case openai.Inexact:
		return fmt.Sprintf("%s that this form cannot say exactly%s", count(k.Count, "field"), first)
	case openai.LeftOut:
		return fmt.Sprintf("%s that this form has no place for%s", count(k.Count, "field"), first)
	default:
		return fmt.Sprintf("%s of the kind %s%s", count(k.Count, "change"), k.Kind, first)
	}
}

// placeOf is as much of a path as consists of the members of messages and of their parts. What lies deeper, such as in the arguments of
// a call, has names that are content.
func (c *changes) placeOf(path string) string {
	if c.places == nil {
		c.places = regexp.MustCompile(`^[a-z_]{1,24}(\[\d+\](\.[a-z_]{1,24}(\[\d+\](\.[a-z_]{1,24})?)?)?)?`)
	}
	return c.places.FindString(path)
}
