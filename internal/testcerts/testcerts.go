// Package testcerts makes certificates for tests.
package testcerts

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// CA signs certificates.
type CA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewCA makes one that nobody knows.
func NewCA(tb testing.TB) *CA {
	tb.Helper()
	ca := &CA{key: newKey(tb)}
	template := certificate("CA of a test", time.Hour)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	ca.cert = sign(tb, template, template, &ca.key.PublicKey, ca.key)
	return ca
}

// Pool trusts it.
func (ca *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return pool
}

// PEM is its certificate.
func (ca *CA) PEM() []byte { return encode("CERTIFICATE", ca.cert.Raw) }

// Pair is a certificate with its key.
type Pair struct {
	Leaf *x509.Certificate
	// Cert and Key are in PEM.
	Cert, Key []byte
}

// Issue makes a certificate with a common name, for localhost and loopback, good for so long; with less than 0 it has expired.
func (ca *CA) Issue(tb testing.TB, name string, good time.Duration) Pair {
	tb.Helper()
	key := newKey(tb)
	template := certificate(name, good)
	template.DNSNames, template.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	leaf := sign(tb, template, ca.cert, &key.PublicKey, ca.key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return Pair{leaf, encode("CERTIFICATE", leaf.Raw), encode("PRIVATE KEY", der)}
}

// TLS is the pair as crypto/tls has it.
func (p Pair) TLS(tb testing.TB) tls.Certificate {
	tb.Helper()
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		tb.Fatal(err)
	}
	return pair
}

// Write writes the pair as cert.pem and key.pem into a folder, and gives their names.
func (p Pair) Write(tb testing.TB, dir string) (cert, key string) {
	tb.Helper()
	return Write(tb, filepath.Join(dir, "cert.pem"), p.Cert), Write(tb, filepath.Join(dir, "key.pem"), p.Key)
}

// Write writes a file at once, whatever was there, and gives its name.
func Write(tb testing.TB, name string, data []byte) string {
	tb.Helper()
	if err := os.WriteFile(name+".new", data, 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		tb.Fatal(err)
	}
	return name
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func certificate(name string, good time.Duration) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 62)) // crypto/rand does not fail
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(good),
	}
}

func sign(tb testing.TB, template, by *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) *x509.Certificate {
	tb.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, by, public, key)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return cert
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
