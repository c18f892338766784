package measure

import (
	"fmt"
	"math"
	"slices"
)

// Holm adjusts p-values of secondary comparisons for their number (Holm, 1979):
// sorted ascending, the i-th becomes max over j <= i of (m-j+1) p_j, at most 1.
// m is how many comparisons were planned: those that came to be refused, nil
// here, stay in it, since dropping them would reward refusals. A nil stays nil.
func Holm(p []*float64, planned int) ([]*float64, error) {
	if planned < len(p) {
		return nil, fmt.Errorf("adjusting %d p-values by Holm: only %d comparisons were planned", len(p), planned)
	}
	var order []int
	for i, x := range p {
		switch {
		case x == nil:
		case math.IsNaN(*x) || *x < 0 || *x > 1:
			return nil, fmt.Errorf("adjusting p-values by Holm: %v is no probability", *x)
		default:
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case *p[a] < *p[b]:
			return -1
		case *p[a] > *p[b]:
			return 1
		}
		return 0
	})
	adjusted, least := make([]*float64, len(p)), 0.0
	for rank, i := range order {
		least = max(least, min(1, float64(planned-rank)**p[i]))
		value := least
		adjusted[i] = &value
	}
	return adjusted, nil
}
