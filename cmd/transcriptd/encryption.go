package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/internal/storekey"
)

// encryptionFlags say how what lies on disk is encrypted.
type encryptionFlags struct {
	KeyFile         string        `placeholder:"FILE" env:"TRANSCRIPTD_ENCRYPTION_KEY_FILE" help:"Encrypt the store with the key in this file: 32 random bytes in base64 or hexadecimal; its mode must be 0600. 'transcriptd key create' makes one. A store stays what it was begun as, encrypted or not, and without its key nothing of it can be read: keep a copy elsewhere. Default: not encrypted."`
	DataKeyRotation time.Duration `default:"240h" env:"TRANSCRIPTD_ENCRYPTION_DATA_KEY_ROTATION" help:"Encrypt new files with another data key after this long (1h to 87600h). Data keys lie in the store, encrypted with the key of --encryption-key-file."`
}

// The bounds of --encryption-data-key-rotation: a store has no end of keys, and what is over half a century never comes.
const (
	shortestRotation = time.Hour
	longestRotation  = 10 * 365 * 24 * time.Hour
)

func (e *encryptionFlags) check(engine string) error {
	switch {
	case e.DataKeyRotation < shortestRotation || e.DataKeyRotation > longestRotation:
		return usagef("--encryption-data-key-rotation must be from 1h to 87600h, is %s", e.DataKeyRotation)
	case e.KeyFile != "" && engine == engineMemory:
		return usagef("--encryption-key-file goes with --store badger://PATH: what --store memory: keeps is never on disk")
	default:
		return nil
	}
}

// flag is the flag with the key, behind others; empty: none was given.
func (e *encryptionFlags) flag() string {
	if e.KeyFile == "" {
		return ""
	}
	return " --encryption-key-file " + e.KeyFile
}

// key is the store's; nil: it is not encrypted.
func (e *encryptionFlags) key() ([]byte, error) {
	if e.KeyFile == "" {
		return nil, nil
	}
	key, err := storekey.Read(e.KeyFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("--encryption-key-file: %w (make it with 'transcriptd key create')", err)
	case err != nil:
		return nil, fmt.Errorf("--encryption-key-file: %w", err)
	}
	return key, nil
}

// keyConfig is what 'transcriptd key' does.
type keyConfig struct {
	Create keyCreateConfig `cmd:"" help:"Make a file with a new key, for --encryption-key-file. A file that is there is left as it is."`
	Rotate keyRotateConfig `cmd:"" help:"Make another key that of the store, while no transcriptd has it open; --encryption-key-file has the one that it has now. What is there is not encrypted anew: the data keys are, and what is written from then on has another. It may be repeated. Keep the old key for as long as copies of the folder from before."`
}

type keyCreateConfig struct {
	File string `arg:"" help:"The file to make."`
}

type keyRotateConfig struct {
	NewFile string `arg:"" help:"The file with the new key, as --encryption-key-file has it."`
}

// Commands of keys, as kong names them.
const (
	commandKeyCreate = "key create <file>"
	commandKeyRotate = "key rotate <new-file>"
)

func createKey(cfg *config, stdout io.Writer) error {
	err := storekey.Create(cfg.Key.Create.File)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("creating a key: %s is there already: a key is not written over", cfg.Key.Create.File)
	}
	if err != nil {
		return fmt.Errorf("creating a key: %w", err)
	}
	fmt.Fprintf(stdout, "%s has a new key. Without it nothing of a store that is encrypted with it can be read: keep a copy elsewhere.\n", cfg.Key.Create.File)
	return nil
}

func rotateKey(cfg *config, stdout io.Writer) error {
	path, err := cfg.badgerPath("key rotate")
	if err != nil {
		return err
	}
	if cfg.Encryption.KeyFile == "" {
		return usagef("key rotate needs --encryption-key-file with the key that the store has now")
	}
	o, err := cfg.storeOptions()
	if err != nil {
		return err
	}
	key, err := storekey.Read(cfg.Key.Rotate.NewFile)
	if err != nil {
		return fmt.Errorf("the new key: %w", err)
	}
	if err := badgerstore.Rekey(path, o, key); err != nil {
		return fmt.Errorf("changing the key of the store in %s: %w", path, err)
	}
	fmt.Fprintf(stdout, "The store in %s has the key of %s now. Start transcriptd with it.\n", path, cfg.Key.Rotate.NewFile)
	return nil
}
