// Package harness is what all benchmarks have in common: scenarios with their
// options, rounds in which the cases of a comparison take turns, samples with
// median and spread, and reports that print as text or JSON.
//
// A machine that other work shares gives no absolute figure twice. So whatever
// matters is a ratio to a reference that runs in the same rounds; it is formed
// within each round, and the report gives its median.
package harness
