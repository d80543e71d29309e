package cli

import (
	"fmt"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
)

// RuleCommand manages NF rules (paper 003, "NF rule management").
func RuleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rule", Short: "add, delete and list the rules of NFs",
		Long: `Rules are in the words of an NF's page (catena nf show NF): names of keys, actions
and parameters, values as people write them. A rule belongs to a chain: no other
chain's packets meet it. Or it is the operator's (--operator) and holds for every chain of
every project, but where a chain's own rules say otherwise of the same match and priority.`,
	}
	cmd.AddCommand(ruleAdd(), ruleDelete(), ruleList())
	return cmd
}

// pairs reads KEY=VALUE arguments.
func pairs(what string, list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range list {
		k, v, ok := strings.Cut(s, "=")
		if !ok || k == "" {
			return nil, refuse("%s %q is not KEY=VALUE", what, s)
		}
		if _, twice := out[k]; twice {
			return nil, refuse("%s %q is given twice", what, k)
		}
		out[k] = v
	}
	return out, nil
}

// ruleScope says whose a rule is: a chain's or the operator's.
type ruleScope struct {
	chain    string
	operator bool
}

func (s *ruleScope) flags(f *pflag.FlagSet) {
	f.StringVar(&s.chain, "chain", "", "chain that the rule belongs to")
	f.BoolVar(&s.operator, "operator", false, "instead of --chain: the rule is the operator's, for every chain")
}

func (s *ruleScope) check() error {
	if s.operator == (s.chain != "") {
		return refuse("one of --chain and --operator is needed")
	}
	return nil
}

func ruleAdd() *cobra.Command {
	var conn connection
	var to ruleScope
	var table, action string
	var match, params []string
	var priority int32
	cmd := &cobra.Command{
		Use: "add NF --chain CHAIN --action ACTION", Short: "add a rule to an NF of a chain, or of all chains",
		Example: `  catena rule add Firewall --chain dc --match protocol=tcp --match dst_port=81 --action deny --priority 100
  catena rule add NAT --chain dc --table source --match src_addr=10.10.1.12 --action translate --param addr=203.0.113.10
  catena rule add Firewall --operator --match protocol=tcp --match dst_port=23 --action deny --priority 1000`,
		Args: cobra.ExactArgs(1),
	}
	cmd.RunE = withClients(&conn, func(cmd *cobra.Command, c *clients, args []string) error {
		if err := to.check(); err != nil {
			return err
		}
		m, err := pairs("match", match)
		if err != nil {
			return err
		}
		p, err := pairs("parameter", params)
		if err != nil {
			return err
		}
		r, err := c.rules.AddRule(cmd.Context(), &catenav1.AddRuleRequest{Chain: to.chain, Rule: &catenav1.Rule{
			Nf: args[0], Table: table, Match: m, Action: action, Params: p, Priority: priority,
		}})
		if err != nil {
			return err
		}
		showChange(cmd, r)
		return nil
	})
	conn.flags(cmd)
	f := cmd.Flags()
	to.flags(f)
	f.StringVar(&table, "table", "", "table (default: the NF's first)")
	f.StringArrayVarP(&match, "match", "m", nil, "KEY=VALUE, once for each key")
	f.StringVar(&action, "action", "", "action")
	f.StringArrayVar(&params, "param", nil, "NAME=VALUE, once for each parameter of the action")
	f.Int32Var(&priority, "priority", 0, "larger wins")
	cobra.CheckErr(cmd.MarkFlagRequired("action"))
	return cmd
}

func ruleDelete() *cobra.Command {
	var conn connection
	var of ruleScope
	cmd := &cobra.Command{
		Use: "delete ID --chain CHAIN", Short: "delete a rule; its id is shown by rule list",
		Example: "  catena rule delete ebc3d7a1af05 --chain dc", Args: cobra.ExactArgs(1),
	}
	cmd.RunE = withClients(&conn, func(cmd *cobra.Command, c *clients, args []string) error {
		if err := of.check(); err != nil {
			return err
		}
		r, err := c.rules.DeleteRule(cmd.Context(), &catenav1.DeleteRuleRequest{Chain: of.chain, Id: args[0]})
		if err != nil {
			return err
		}
		showChange(cmd, r)
		return nil
	})
	conn.flags(cmd)
	of.flags(cmd.Flags())
	return cmd
}

func ruleList() *cobra.Command {
	var conn connection
	var chain string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list [NF]", Short: "list the rules of an NF, or of all",
		Example: "  catena rule list Firewall\n  catena rule list --chain dc --json", Args: cobra.MaximumNArgs(1),
	}
	cmd.RunE = withClients(&conn, func(cmd *cobra.Command, c *clients, args []string) error {
		req := &catenav1.ListRulesRequest{Chain: chain, Project: conn.project}
		if len(args) == 1 {
			req.Nf = args[0]
		}
		l, err := c.rules.ListRules(cmd.Context(), req)
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(cmd.OutOrStdout(), l)
		}
		showRules(cmd, l.GetRules())
		return nil
	})
	conn.flags(cmd)
	cmd.Flags().StringVar(&chain, "chain", "", "only those of this chain")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func showRules(cmd *cobra.Command, rules []*catenav1.RuleInfo) {
	t := newTable(cmd.OutOrStdout(), "ID", "CHAIN", "NF", "TABLE", "PRIORITY", "MATCH", "ACTION")
	for _, r := range rules {
		v := r.GetRule()
		whose := r.GetChainName()
		if r.GetChain() == 0 {
			whose = "(operator)"
		}
		t.row(r.GetId(), whose, v.GetNf(), any1(v.GetTable()), v.GetPriority(), words(v.GetMatch()), fmt.Sprintf("%s(%s)", v.GetAction(), words(v.GetParams())))
	}
	t.flush()
}

// words prints a map as k=v, sorted.
func words(m map[string]string) string {
	out := make([]string, 0, len(m))
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	sort.Strings(out)
	return strings.Join(out, " ")
}
