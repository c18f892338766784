// Package analyze reads rows that another tool wrote, and gives them the
// numbers that brunt gives its own: the incidence of completion among all
// scheduled requests, with its band, quantiles and refusals, for all rows, for
// each group and for each window.
//
// A row has a time from the intended instant, in milliseconds, and an outcome:
// completed, errored or censored. Rows come as CSV, JSON Lines or Parquet, or
// from brunt's own requests.parquet. Times are held in whole nanoseconds; what
// is finer is rounded to the nearest one. A row that cannot be used is never
// left out in silence: the analysis is refused with a list of [Faults].
//
// Memory does not grow with the rows but with the distinct times among them,
// and beyond a few million of those not at all: rows are counted by time, group,
// window and outcome in sorted runs, which go to a temporary file that has no
// name any more. It is gone with the process, however that ends.
//
// The package starts no goroutine. An [Analysis] may be used from one goroutine
// at a time, and must be closed.
//
//	a, err := analyze.File("rows.csv", analyze.Options{Horizon: 30 * time.Second})
//	if err != nil {
//		return err // *analyze.Faults when the rows are to blame
//	}
//	defer a.Close()
//	fmt.Println(a.Whole.Final, a.Whole.Quantiles[0].Status)
package analyze
