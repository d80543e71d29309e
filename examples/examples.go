// Package examples holds service files that the documentation refers to. Its
// test accepts them as the controller would, and holds them to what they are
// said to contain.
package examples

import _ "embed"

// Shop is what `catena up` deploys.
//
//go:embed shop.yaml
var Shop string
