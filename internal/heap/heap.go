// Package heap tells Go's runtime what a server may take.
package heap

import (
	"os"
	"runtime/debug"
)

// gcPercent is how far, in per cent, garbage may outgrow what is in use while there is room for it below the limit: twice as far as
// Go lets it, since collecting takes time from calls, and what is below the limit was given to be used.
const gcPercent = 200

// Limit sets the runtime's soft limit to seven eighths of so many MiB, and lets it collect later below that; what the environment
// sets, GOMEMLIMIT and GOGC, wins. What reads and writes leave behind is then collected before it adds up. The runtime goes beyond its
// limit by what is asked for while it collects, tens of MiB where tables are written: an eighth is left for that.
func Limit(mib int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(mib << 20 / 8 * 7)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
