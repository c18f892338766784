package policy

// links makes a struct of type T part of a queue of waiters.
type links[T any] struct{ before, behind *T }

func (l *links[T]) link() *links[T] { return l }

type linked[T any] interface {
	*T
	link() *links[T]
}

// waiters is a queue that any waiter can leave in constant time.
type waiters[T any, P linked[T]] struct {
	first, last P
	n           int
}

func (q *waiters[T, P]) push(w P) {
	*w.link() = links[T]{before: q.last}
	if q.last != nil {
		q.last.link().behind = w
	} else {
		q.first = w
	}
	q.last = w
	q.n++
}

func (q *waiters[T, P]) remove(w P) {
	l := w.link()
	if before := P(l.before); before != nil {
		before.link().behind = l.behind
	} else {
		q.first = l.behind
	}
	if behind := P(l.behind); behind != nil {
		behind.link().before = l.before
	} else {
		q.last = l.before
	}
	*l = links[T]{}
	q.n--
}
