package badgerdb

// A value that zstd makes an eighth of itself, or less, is packed before the database gets it: the database holds what is to be in
// a table as it was given until that makes the table's size compressed, which of a repeated word is hundreds of times as much
// (decision 0055). The byte that the database has beside each value, the mark, tells. This is part of the storage format:
//
//	mark  what the database has for a value
//	0     value
//	1     length-of-value frame                    frame = the value as a frame of zstd
const (
	markPlain  = 0
	markPacked = 1
)
