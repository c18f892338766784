// Package measure turns rows into numbers: outcomes, percentiles, the
// incidence of completion with its quantiles and refusals, recovery, the herd
// of attempts, goodput, windows, the return after a fault, the use of workers,
// what keeps goodput down when a trigger is gone, breakers, repeats,
// comparisons, and intervals.
//
// It needs rows and plain parameters only, so it serves rows that brunt did
// not make. It draws nothing and reads no clock: the same rows in any order
// give the same numbers. It does not smooth, extrapolate or average: a number
// that the rows cannot carry is absent, with the reason in words.
//
// Times are [time.Duration] and count from a request's intended instant;
// in JSON they are milliseconds. Ranks and quantiles are whole numbers, parts
// per million, and percentiles are nearest ranks of kept samples. Functions may
// be called from any goroutine, a [Recorder] from one at a time.
//
//	r := measure.NewRecorder(plan, 1000)
//	… // r.Request, r.Attempt and r.Event, for each row
//	composition, err := r.Composition("retry")
//
// Rows of any tool will do for the rest:
//
//	curve := measure.NewCurve(observations, 30*time.Second)
//	p99, bounds := curve.Quantile(990_000), curve.QuantileInterval(990_000)
package measure
