// Package catenav1 is version 1 of Catena's API: gRPC services, and the REST
// gateway that is generated from the same definitions.
package catenav1

import _ "embed"

// OpenAPI is the OpenAPI (Swagger 2.0) document of the REST API, as JSON.
//
//go:embed catena.swagger.json
var OpenAPI []byte
