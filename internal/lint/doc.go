// Package lint holds the repository's rules as tests: which room may import
// which, how long a file may be, and what every package must have.
package lint
