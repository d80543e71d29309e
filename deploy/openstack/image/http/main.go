// Command http is catena-http of the guest image: the small HTTP server that
// a server runs unless it is told another command.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/catena-nfv/catena/internal/cloud/guest"
)

func main() {
	if err := guest.Serve(context.Background(), os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "catena-http:", err)
		os.Exit(1)
	}
}
