// Package certs keeps what a server shows and trusts in TLS as the files have it that it is read from.
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// Files are where the parts of it are, in PEM.
type Files struct {
	// Cert has the server's certificate, with those that lead to a root behind it, Key its private key.
	Cert, Key string
	// ClientCA has the certificates that those of clients are signed with; "": clients are not asked for any.
	ClientCA string
}

// contents are what the files have.
type contents struct{ cert, key, clientCA string }

func (f Files) read() (contents, error) {
	cert, err := readFile("the certificate", f.Cert)
	key, keyErr := readFile("the private key", f.Key)
	clientCA, caErr := readFile("the clients' CA", f.ClientCA)
	return contents{cert, key, clientCA}, errors.Join(err, keyErr, caErr)
}

func readFile(what, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	b, err := readRegular(name)
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w (give a file in PEM that the server may read)", what, err)
	}
	return string(b), nil
}

// maxFile bounds what is read of a file.
const maxFile = 4 << 20

// readRegular reads a file, and waits for none: one that is no regular file, such as a named pipe, is an error.
func readRegular(name string) (b []byte, err error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", name)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// material is what the files mean. It does not change.
type material struct {
	pair tls.Certificate
	// clientCAs are nil where clients are not asked for certificates; anchors are the same, by their bytes.
	clientCAs *x509.CertPool
	anchors   map[string]bool
}

// parse tells what contents mean. Its errors name the files, and nothing of what is in them.
func (f Files) parse(c contents) (*material, error) {
	pair, err := tls.X509KeyPair([]byte(c.cert), []byte(c.key))
	if err != nil {
		return nil, fmt.Errorf("the certificate in %s and the private key in %s do not make a pair: %w (give both in PEM, the key the one that "+
			"the certificate was made for)", f.Cert, f.Key, err)
	}
	m := &material{pair: pair}
	if f.ClientCA == "" {
		return m, nil
	}
	m.clientCAs, m.anchors = x509.NewCertPool(), map[string]bool{}
	for block, rest := pem.Decode([]byte(c.clientCA)); block != nil; block, rest = pem.Decode(rest) {
		ca, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("the clients' CA in %s has a block that is no certificate: %w (give certificates in PEM)", f.ClientCA, err)
		}
		m.clientCAs.AddCert(ca)
		m.anchors[string(ca.Raw)] = true
	}
	if len(m.anchors) == 0 {
		return nil, fmt.Errorf("the clients' CA in %s has no certificate (give certificates in PEM)", f.ClientCA)
	}
	return m, nil
}

// good tells whether a chain, which a handshake has verified, ends at a CA that is trusted now, and has nothing expired.
func (m *material) good(chain []*x509.Certificate, now time.Time) bool {
	for _, c := range chain {
		if now.After(c.NotAfter) {
			return false
		}
	}
	return m.anchors[string(chain[len(chain)-1].Raw)]
}
