package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// About calls found with each line that tells of a call with an alias, without its line break, which found must not keep. Lines are not verified: see
// Check. Of calls with many aliases a line has the first Listed. Errors: that of found, ErrOtherKey, and those of reading.
func About(files []string, keys []*Key, namespace, alias string, found func(text []byte) error) error {
	for _, name := range files {
		if err := aboutIn(name, keys, namespace, alias, found); err != nil {
			return err
		}
	}
	return nil
}

func aboutIn(name string, keys []*Key, namespace, alias string, found func([]byte) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	salt := ""
	for lines := bufio.NewReaderSize(f, maxLine); ; {
		text, err := readLine(lines)
		text = bytes.TrimSuffix(text, []byte("\n"))
		if r, bad := parse(text); bad == nil {
			if r.File != nil {
				salt = r.File.Salt
			}
			key := named(keys, r.Key)
			if key == nil && r.Key != "" {
				return fmt.Errorf("%w: line %d of %s says that its key has the id %.16q", ErrOtherKey, r.Seq, name, r.Key)
			}
			if r.Call != nil && slices.Contains(r.Call.Aliases, key.Name(salt, namespace, alias)) {
				if err := found(text); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// named is the key with an id; nil: there is none.
func named(keys []*Key, id string) *Key {
	i := slices.IndexFunc(keys, func(k *Key) bool { return k.ID() == id })
	if i < 0 {
		return nil
	}
	return keys[i]
}
