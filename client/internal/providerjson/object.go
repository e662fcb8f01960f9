package providerjson

// Taker is an object whose known members are taken one by one; what is left are the extras.
type Taker struct {
	value *Value
	taken map[string]bool
	subs  map[string]*Taker
}

// Take begins to take members out of an object.
func Take(object *Value) *Taker {
	return &Taker{value: object, taken: map[string]bool{}, subs: map[string]*Taker{}}
}

// Path is the object's.
func (t *Taker) Path() string { return t.value.Path() }

// Look returns a member without taking it, or nil.
func (t *Taker) Look(name string) *Value { return t.value.Member(name) }

// Take takes a member: it will not be in the extras.
func (t *Taker) Take(name string) { t.taken[name] = true }

// String takes a member that is a string. A member that is absent or null gives nil, and a null stays in the extras;
// one of another kind is an error.
func (t *Taker) String(name string) (*string, error) {
	v := t.Look(name)
	switch {
	case v == nil || v.Kind == Null:
		return nil, nil
	case v.Kind != String:
		return nil, Errorf(v.Path(), "is neither a string nor null")
	}
	t.Take(name)
	return &v.Text, nil
}

// Sub begins to take members out of a member that is an object. What is left of it stays in the extras under its
// name; where nothing is left, so does not the member.
func (t *Taker) Sub(name string) *Taker {
	sub := Take(t.Look(name))
	t.subs[name] = sub
	return sub
}

// Rest is the object without what was taken, in source spelling, or empty where nothing is left.
func (t *Taker) Rest() []byte {
	var out []byte
	for _, m := range t.value.Members {
		source := m.Value.Source
		if sub := t.subs[m.Name]; sub != nil {
			source = sub.Rest()
		}
		if len(source) == 0 || t.taken[m.Name] {
			continue
		}
		out = appendMember(out, m.source, source)
	}
	if len(out) > 0 {
		out = append(out, '}')
	}
	return out
}

func appendMember(object, name, value []byte) []byte {
	if len(object) == 0 {
		object = append(object, '{')
	} else {
		object = append(object, ',')
	}
	object = append(object, name...)
	object = append(object, ':')
	return append(object, value...)
}
