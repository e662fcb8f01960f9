package layout

import (
	"encoding/binary"
	"math"

	"github.com/transcriptd/transcriptd/chainstore"
)

// Settings is the G row of a namespace; the zero Settings are those of one without such a row.
type Settings struct {
	chainstore.SettingsNow
	// Rest is what a later program has behind, kept where the row is written again.
	Rest string
}

func (s *Settings) numbers() [4]*int64 {
	return [...]*int64{&s.Revision, &s.MaxNodes, &s.MaxMessageBytes, &s.MaxAliases}
}

func AppendSettings(b []byte, s *Settings) []byte {
	for _, n := range s.numbers() {
		b = binary.AppendUvarint(b, uint64(*n))
	}
	if s.Retention != "" || s.Rest != "" {
		b = appendText(b, s.Retention)
	}
	return append(b, s.Rest...)
}

func ParseSettings(value []byte) (s Settings, err error) {
	d := reader{rest: value}
	for _, n := range s.numbers() {
		*n = int64(d.number(math.MaxInt64))
	}
	if len(d.rest) > 0 { // rows of before end here
		s.Retention = string(d.bytes(int(d.number(uint64(len(d.rest))))))
	}
	if s.Rest, d.rest = string(d.rest), nil; s.Revision == 0 {
		d.fail()
	}
	if err := d.end(TableSettings); err != nil {
		return Settings{}, err
	}
	return s, nil
}
