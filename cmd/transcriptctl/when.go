package main

import (
	"errors"
	"reflect"
	"time"

	"github.com/alecthomas/kong"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/internal/when"
)

// errNotATime is what every flag says that takes a time.
var errNotATime = errors.New("must be a time: 2h, 3d or 1w ago, 2026-11-23 (in UTC) or 2026-11-23T15:04:05Z")

// decodeWhen reads the time of a flag for kong.
func decodeWhen(c *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	at, ok := when.Parse(text, time.Now())
	if !ok {
		return errNotATime
	}
	target.Set(reflect.ValueOf(&at))
	return nil
}

// sinceFlag bounds a listing by time.
type sinceFlag struct {
	Since *time.Time `placeholder:"TIME" help:"Only from this time on: 2h, 3d or 1w ago, 2026-11-23 (in UTC) or 2026-11-23T15:04:05Z."`
}

// has tells whether a time is one that the listing shows.
func (f *sinceFlag) has(at *timestamppb.Timestamp) bool {
	return f.Since == nil || at != nil && !at.AsTime().Before(*f.Since)
}
