package lossy

import (
	"fmt"
	"slices"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Rule says what befalls calls.
type Rule struct {
	// Methods are the names of rpcs, such as PutNode, that the rule is for. None: every rpc.
	Methods []string `json:"methods,omitempty"`
	// Skip is how many of these calls pass before the first that the rule takes.
	Skip int `json:"skip,omitempty"`
	// Times is how many calls it takes; 0: one.
	Times int `json:"times,omitempty"`
	// At is where in the call it acts. Required.
	At Point `json:"at"`
	// Frames, with At reply, is how many messages of the reply pass before it acts: 0, but for streams.
	Frames int `json:"frames,omitempty"`
	// Hold makes the call wait there, first, until it is released.
	Hold bool `json:"hold,omitempty"`
	// Then is what comes of the call.
	Then Fate `json:"then,omitempty"`
	// Code is the status of a failed call, such as RESOURCE_EXHAUSTED; empty: UNAVAILABLE.
	Code string `json:"code,omitempty"`
	// Reason, if not empty, goes with the status as the service's own reasons do: OVERLOADED, say. A lost call has none.
	Reason string `json:"reason,omitempty"`
}

// Point is where in a call a rule acts.
type Point string

// The points of a call.
const (
	// Request: before anything of the call is sent to the server, which does not see it unless it passes.
	Request Point = "request"
	// Reply: once the server sent that much of its reply. It has done a call of a single reply.
	Reply Point = "reply"
)

// Fate is what comes of a call.
type Fate string

// The fates of a call.
const (
	// Fail ends the call with the rule's status. It is the fate of a rule that names none.
	Fail Fate = "fail"
	// Break closes the connection that the call came by, with every other call on it.
	Break Fate = "break"
	// Pass does nothing more: for calls that are only held.
	Pass Fate = "pass"
)

// check refuses a rule that says nothing, or what cannot be.
func (r *Rule) check() error {
	switch {
	case r.At != Request && r.At != Reply:
		return fmt.Errorf("at: %q is neither request nor reply", r.At)
	case !slices.Contains([]Fate{"", Fail, Break, Pass}, r.Then):
		return fmt.Errorf("then: %q is none of fail, break, pass", r.Then)
	case r.Skip < 0 || r.Times < 0 || r.Frames < 0:
		return fmt.Errorf("skip, times and frames: a number below 0")
	case r.Frames > 0 && r.At != Reply:
		return fmt.Errorf("frames: only at reply")
	case r.Then == Pass && !r.Hold:
		return fmt.Errorf("then: pass without hold does nothing")
	case (r.Code != "" || r.Reason != "") && r.Then != Fail && r.Then != "":
		return fmt.Errorf("code and reason: only with then fail")
	}
	_, err := r.code()
	return err
}

func (r *Rule) code() (codes.Code, error) {
	if r.Code == "" {
		return codes.Unavailable, nil
	}
	var code codes.Code
	if err := code.UnmarshalJSON([]byte(`"` + r.Code + `"`)); err != nil || code == codes.OK {
		return 0, fmt.Errorf("code: %q is no status of a failed call", r.Code)
	}
	return code, nil
}

// status is how a call that the rule lets fail ends.
func (r *Rule) status() error {
	code, err := r.code()
	if err != nil {
		return err
	}
	s := status.New(code, "lost by the proxy")
	if r.Reason == "" {
		return s.Err()
	}
	s, err = s.WithDetails(&errdetails.ErrorInfo{Domain: "transcript.v1", Reason: r.Reason})
	if err != nil {
		return err
	}
	return s.Err()
}

// takes tells whether the rule takes a call of a method, and counts it.
func (r *Rule) takes(method string) bool {
	if len(r.Methods) > 0 && !slices.Contains(r.Methods, method) {
		return false
	}
	if r.Skip > 0 {
		r.Skip--
		return false
	}
	r.Times--
	return true
}
