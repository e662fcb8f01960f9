//go:build !race

package costs

const raced = false
