package compaction

// queue is a list that is appended to and forgotten from its front; its entries are numbered from the first ever pushed.
// What stays is moved at most once for each entry forgotten, and takes at most twice its room.
type queue[T any] struct {
	list []T
	// gone is how many entries of list are forgotten; first is the number of the one after them.
	gone  int
	first int64
}

func (q *queue[T]) push(v T) { q.list = append(q.list, v) }

// end is the number of the next entry.
func (q *queue[T]) end() int64 { return q.first + int64(len(q.list)-q.gone) }

func (q *queue[T]) empty() bool { return q.gone == len(q.list) }

// at is entry n, which must not be forgotten. It is good until the next push or forget.
func (q *queue[T]) at(n int64) *T { return &q.list[q.gone+int(n-q.first)] }

// between are the entries from number a to before b.
func (q *queue[T]) between(a, b int64) []T {
	return q.list[q.gone+int(a-q.first) : q.gone+int(b-q.first)]
}

// forget forgets the entries before n.
func (q *queue[T]) forget(n int64) {
	if n <= q.first {
		return
	}
	q.gone += int(n - q.first)
	q.first = n
	if q.gone > len(q.list)/2 {
		q.list = q.list[:copy(q.list, q.list[q.gone:])]
		q.gone = 0
	}
}

// reset forgets everything and numbers from first again.
func (q *queue[T]) reset(first int64) { q.list, q.gone, q.first = q.list[:0], 0, first }
