package interp

// array is an array of which only the cells that were touched take memory: programs
// declare registers and counters of any size.
type array[T any] struct {
	size  int
	cells map[int]*T
}

func newArray[T any](size int) *array[T] { return &array[T]{size: size, cells: map[int]*T{}} }

// at returns cell i, which must be below the size.
func (a *array[T]) at(i int) *T {
	c := a.cells[i]
	if c == nil {
		c = new(T)
		a.cells[i] = c
	}
	return c
}

// get returns the content of cell i, zero if it was never touched.
func (a *array[T]) get(i int) T {
	if c := a.cells[i]; c != nil {
		return *c
	}
	var none T
	return none
}
