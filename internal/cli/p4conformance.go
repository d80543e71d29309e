package cli

import (
	"github.com/spf13/cobra"

	"github.com/catena-nfv/catena/internal/p4/conformance"
	"github.com/catena-nfv/catena/internal/p4/tool"
)

// p4Conformance writes the page that says which programs pass on which targets.
func p4Conformance(kernel tool.Kernel) *cobra.Command {
	return &cobra.Command{
		Use: "conformance OWN [CORPUS]", Short: "write the page about what passes on which target",
		Long: `Conformance runs the programs of the folder OWN (run/*.txtar, reject/*.txtar) and those of
CORPUS (as for corpus) on all targets and writes what came of it as Markdown.`,
		Example: "  catena p4 conformance internal/p4/conformance/testdata ../shared/corpus",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			corpus := ""
			if len(args) > 1 {
				corpus = args[1]
			}
			return conformance.Write(cmd.OutOrStdout(), args[0], corpus, conformance.Targets(kernel))
		},
	}
}
