// The sbom command writes what a binary of Go is made of, as CycloneDX in JSON: the modules that its linker put into it, as it tells them itself, and Go's
// standard library, each with its licence. The same binary gives the same bytes: no time and no random number is in it.
//
//	GOWORK=off go -C tools/sbom run . -licences ../.. BINARY >transcriptd.cdx.json
//
// It fails where a licence is not found, so that no module comes in without one.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	checkout := flag.String("licences", ".", "the folder of a workspace that has the modules, in which licences are looked for")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "sbom: name one binary")
		os.Exit(2)
	}
	_ = os.Unsetenv("GOWORK") // this command is built without the workspace whose modules it asks for
	if err := write(flag.Arg(0), *checkout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(binary, checkout string) error {
	sources, err := findSources(checkout)
	if err != nil {
		return err
	}
	bom, err := describe(binary, sources)
	if err != nil {
		return err
	}
	encoder := cyclonedx.NewBOMEncoder(os.Stdout, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	return encoder.EncodeVersion(bom, cyclonedx.SpecVersion1_6)
}
