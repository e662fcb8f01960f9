package bench

// openTransactionsLimit serves bare Badger with a transaction a node, each committed by the call that brings it: limit (e).
func openTransactionsLimit(dir string, _ []string) (limit, error) {
	return openPutLimit(openTransactions(dir))
}
