// Command catena deploys service function chains: see `catena --help` and the
// README. This package wires concrete drivers together and nothing else.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/catena-nfv/catena/bench"
	"github.com/catena-nfv/catena/bench/orchestration"
	"github.com/catena-nfv/catena/examples"
	"github.com/catena-nfv/catena/internal/cli"
	"github.com/catena-nfv/catena/internal/cloud/guest"
	"github.com/catena-nfv/catena/internal/nf"
)

// version is set by the linker in releases.
var version = "dev"

func main() {
	// Servers of the local cloud are this program, too. They start by the dozen,
	// so nothing else is set up for them.
	if len(os.Args) > 1 && os.Args[1] == "__server" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err := guest.Serve(ctx, os.Args[2:], os.Stderr)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, "catena:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := root().ExecuteContext(ctx)
	if code := cli.CodeOf(err); code != 0 {
		if ctx.Err() != nil && code == cli.ExitFailed {
			code = cli.ExitInterrupted
		}
		if text := cli.Message(err); text != "" {
			fmt.Fprintln(os.Stderr, "catena:", text)
		}
		stop()
		os.Exit(code)
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "catena",
		Short: "service function chains over a P4 program in the Linux kernel",
		Long: `Catena deploys services with their service function chains: it creates networks,
servers and functions, compiles the chains into one P4 program, runs the program
in the Linux kernel, and reports until everything is ACTIVE and packets pass.`,
		Example: `  catena up                               # the whole platform on this machine, with an example
  catena apply -f examples/shop.yaml      # deploy a service
  catena chain list                       # the chains that run
  catena p4 build nf.p4 -o out            # compile a P4 program
  catena down                             # stop, and leave nothing behind`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &cli.ExitError{Code: cli.ExitRefused, Err: fmt.Errorf("%w; see `%s --help`", err, c.CommandPath())}
	})
	p := newPlatform()
	chain := &cobra.Command{Use: "chain", Short: "check, merge, compile and verify chain requests; manage the chains that run"}
	chain.AddCommand(cli.ChainFileCommands(openLibrary)...)
	chain.AddCommand(cli.ChainProgramCommands(openLibrary, openChainPrograms)...)
	chain.AddCommand(cli.RunningChainCommands()...)
	cmd.AddCommand(
		cli.ApplyCommand(), cli.PlanCommand(), cli.GetCommand(), cli.DeleteCommand(), cli.WatchCommand(),
		chain, cli.RuleCommand(), cli.NFCommand(openLibrary), cli.P4Command(kernel{}, nf.Options().FS), cli.SwitchCommand(), cli.TraceCommand(compileRunning),
		cli.BenchCommand(bench.All(bench.Config{
			OpenSwitch: openBenchSwitch, Orchestration: orchestration.Config{Access: benchAccess, Controller: startBenchController},
		})),
		cli.UpCommand(p, examples.Shop), cli.DownCommand(p), serveCommand(),
	)
	strict(cmd)
	return cmd
}

// strict gives every command that is called wrongly the same kind of error: one
// that the caller can repair, naming where to read more. Commands that only hold
// others print their help when called alone.
func strict(c *cobra.Command) {
	check, group := c.Args, !c.Runnable()
	if group {
		c.DisableFlagsInUseLine = true
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		check = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			text := fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath())
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				text += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
			}
			return errors.New(text)
		}
	}
	c.SuggestionsMinimumDistance = 2
	c.Args = func(c *cobra.Command, args []string) error {
		var err error
		if check != nil {
			err = check(c, args)
		}
		if err == nil {
			err = c.ValidateRequiredFlags()
		}
		if err != nil {
			return &cli.ExitError{Code: cli.ExitRefused, Err: fmt.Errorf("%w; see `%s --help`", err, c.CommandPath())}
		}
		return nil
	}
	for _, sub := range c.Commands() {
		strict(sub)
	}
}
