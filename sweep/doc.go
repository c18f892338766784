// Package sweep runs one study at many points: with settings varied over a
// grid or a Latin hypercube, on many seeds each ([Sweep.Run]); or bisects one
// setting to the edge where a statement becomes true ([Search.Run]).
//
// A point is a study of its own, run on the virtual clock by [lab.Measure]; no
// rows are kept. Points run on all cores, each on its own loop, and nothing of
// what comes out depends on how many at a time or in which order they finish.
// Finished points go to a journal in the output folder, in the order of the
// plan, so that a stopped sweep goes on where the journal ends; tables, charts
// and reports are made from the journal.
//
// Numbers are those of [lab.Find]; durations are in milliseconds. The mean of
// a point is over its seeds, with the 95 % t-interval of [measure.SpreadOf]. A
// number that is refused on any seed has no mean at that point.
//
// Nothing here may be called from more than one goroutine at a time.
package sweep
