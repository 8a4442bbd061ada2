# SPDX-License-Identifier: BSD-3-Clause
#
# The words of a command and its signals, for labs of namespaces and of virtual machines.

from .errors import EXIT_USAGE, LabError


def parser_for(command):
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message):
            raise LabError(f"{command}: {message}", EXIT_USAGE)

    return Parser(prog=f"sclab {command}", allow_abbrev=False)


def split_exec(args, caller):
    """(HOST or --all, the command's words) of what follows exec."""
    target, words = args[:1], args[1:]
    if words[:1] == ["--"]:
        words = words[1:]
    if not target or not words:
        raise LabError(f"exec: write {caller} exec HOST [--] COMMAND..., or --all for HOST", EXIT_USAGE)
    return target[0], words


def stop(number, _):
    raise KeyboardInterrupt(number)
