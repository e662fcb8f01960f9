// Package costs holds what calls take of the engine, of memory and of the wire to committed numbers, which depend on no
// clock and hardly on the machine. Not under the race detector, which allocates for itself.
package costs
