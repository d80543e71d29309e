// Package e2e holds tests of the whole: programs compiled from P4 text, programmed
// over P4Runtime, and real packets between network namespaces. They need root and
// are skipped without it.
package e2e
