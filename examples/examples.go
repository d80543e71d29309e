// Package examples holds service files that the documentation refers to. Its
// test accepts them as the controller would, and holds them to what they are
// said to contain.
package examples

import "embed"

// Shop is what `catena up` deploys.
//
//go:embed shop.yaml
var Shop string

// Files are all examples.
//
//go:embed *.yaml
var Files embed.FS
