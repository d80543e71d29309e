#!/usr/bin/python3
"""Runs several commands of one management program, one after another, and loads the program once.

each.py MODULE PROGRAM [OPTION…] -- COMMAND… -- COMMAND…

is PROGRAM OPTION… COMMAND… for each COMMAND; MODULE.main() is the program. It ends with the first that fails, with
its status. Loading takes longer than most commands.
"""
import importlib
import itertools
import os
import sys


def main():
    module, *rest = sys.argv[1:]
    groups = [list(g) for end, g in itertools.groupby(rest, "--".__eq__) if not end]
    program = importlib.import_module(module)
    for command in groups[1:]:
        pid = os.fork()
        if pid == 0:
            sys.argv = groups[0] + command
            sys.exit(program.main())
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status:
            print(f"{groups[0][0]} {' '.join(command)}: status {status}", file=sys.stderr)
            sys.exit(status if status > 0 else 1)


if __name__ == "__main__":
    main()
