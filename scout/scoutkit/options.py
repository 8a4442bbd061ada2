# SPDX-License-Identifier: BSD-3-Clause
"""options - the command line of scout: names with one hyphen as SCore had them, with two as others have. Decides what
goes together; looks at nothing else."""

import os

VERBS = ("put", "get")
RSH = ("auto", "scnoded", "ssh", "exec")
_TIMES = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_OF_THE_SHELL = ";&|<>()$`\\\"'*?[]#~{}!"  # and blanks: what stands for more than itself

USAGE = """usage: scout -g EXPR [OPTION...]                 lock hosts, open a shell on them
       scout -g EXPR [OPTION...] [--] COMMAND...   run a command on them
       scout [OPTION...] COMMAND...                in such a shell: on its hosts
       scout                                       in such a shell: which hosts, how they are
       scout ... -put FILE... DEST                 files to all hosts
       scout ... -get FILE DIR                     a file of each host to DIR/HOST/
Hosts:
  -g EXPR        groups and hosts: pcc, n[000-063/2], all~n7, pcc:16, pcc@16
  -F FILE        expressions in a file, a line each     -x EXPR        leave these out
  -n COUNT       that many of them that are free        -scatter       they need not be neighbours
  -wait          until they are free                    -force         operators: take them from others
  -no-lock       without asking scored                  -reason TEXT   shown to who waits
  -e COMMAND...  run it here, with the hosts locked, in the place of a shell
Commands:
  -timeout TIME  end it then, with code 124             -connect TIME  give up hosts then; 10
  -nostdin       do not read standard input             -rsh HOW       auto, scnoded, ssh, exec
  -through CMD   start agents with pdsh and this command, %h the host
Output:
  -merge         equal outputs once; the default        -sort          each host by itself, in order
  -rev           the same backwards                     -nosort        each host when it ends
  -label         lines as they come, the host before    --json         an object for each host
  -raw           all bytes, on a terminal, too          -v             say what is done
Others:
  --server HOST[:PORT]  of scored    --munge-socket PATH    --address HOST  of this host, for -rsh ssh
  --programs DIR  where scremote is on the hosts    -h, --help    -V, --version
"""


class Wrong(Exception):
    """A sentence about a call that can't be meant."""


def _seconds(text):
    number = text.rstrip("smhd")
    whole, _, part = number.partition(".")
    if not (whole + part).isdecimal() or not whole:
        raise ValueError
    seconds = float(number) * _TIMES.get(text[len(number):], 0)
    if not 0 < seconds <= 1e9:
        raise ValueError
    return seconds


def _count(text):
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= 1 << 20:
        raise ValueError
    return int(text)


def _rsh(text):
    if text not in RSH:
        raise ValueError
    return text


def _text(text):
    if not text:
        raise ValueError
    return text


_A_TIME = "a time above 0, as 90, 1.5s, 15m, 2h"
# Name: (field, reader, what is wanted), or (field, value) of one without a value.
_TABLE = {
    "g": ("group", _text, "groups and hosts, as pcc or n[0-3]"),
    "F": ("file", _text, "a file of host expressions"),
    "x": ("exclude", _text, "groups and hosts, as n[0-3]"),
    "n": ("count", _count, "a number of hosts"),
    "scatter": ("scatter", True), "wait": ("wait", True), "force": ("force", True), "no-lock": ("lock", False),
    "reason": ("reason", _text, "a text"),
    "timeout": ("timeout", _seconds, _A_TIME), "connect": ("connect", _seconds, _A_TIME),
    "nostdin": ("stdin", False), "stdin": ("stdin", True),
    "rsh": ("rsh", _rsh, "auto, scnoded, ssh or exec"),
    "through": ("through", _text, "a command with %h in the place of the host"),
    "merge": ("output", "merge"), "sort": ("output", "sort"), "rev": ("output", "rev"),
    "nosort": ("output", "nosort"), "label": ("output", "label"), "json": ("output", "json"),
    "raw": ("is_raw", True),
    "v": ("verbose", True), "verbose": ("verbose", True),
    "server": ("server", _text, "HOST or HOST:PORT"), "munge-socket": ("munge_socket", _text, "a path"),
    "address": ("address", _text, "this host's name or address, as others reach it"),
    "programs": ("programs", _text, "a directory"),
    "put": ("verb", "put"), "get": ("verb", "get"), "private-scored": ("verb", "private-scored"),
    "h": ("verb", "help"), "help": ("verb", "help"), "V": ("verb", "version"), "version": ("verb", "version"),
}


class Options:
    """The options and words of a command line."""

    def __init__(self):
        self.group = self.file = self.exclude = self.count = self.reason = self.timeout = None
        self.scatter = self.wait = self.force = self.verbose = False
        self.lock = self.stdin = True
        self.connect, self.rsh, self.through = 10.0, "auto", None
        self.output, self.verb = "merge", None
        self.is_raw = False
        self.server = self.address = self.programs = None
        self.munge_socket = os.environ.get("SCORE_MUNGE_SOCKET")
        self.words = []         # command and arguments, or those of the verb
        self.is_here = False    # -e: the words are run here


def _unknown(word):
    import difflib
    hyphens = "--" if word.startswith("--") else "-"
    near = difflib.get_close_matches(word.lstrip("-").split("=")[0], _TABLE, n=1, cutoff=0.7)
    hint = f"did you mean {hyphens}{near[0]}?" if near else "scout --help lists them"
    return Wrong(f"{word}: there is no such option; {hint}")


def _take(options, word, rest):
    """One option and its value, which may be the next of the rest."""
    name, joined, value = word.lstrip("-").partition("=")
    entry = _TABLE.get(name)
    if not entry or (word.startswith("--") and len(name) == 1):
        raise _unknown(word)
    if len(entry) == 2:
        if joined:
            raise Wrong(f"{word}: it takes no value")
        setattr(options, *entry)
        return
    field, read, wanted = entry
    if not joined and not rest:
        raise Wrong(f"{word}: its value is missing; wanted is {wanted}")
    value = value if joined else rest.pop(0)
    try:
        setattr(options, field, read(value))
    except ValueError:
        raise Wrong(f"{word.split('=')[0]} {value}: wanted is {wanted}") from None


def _check(options):
    if options.group and options.file:
        raise Wrong("-g and -F: both say where; leave one out")
    if options.verb == "put" and len(options.words) < 2:
        raise Wrong("-put: write the files and where they go, as in: scout -g pcc -put a.out /tmp/")
    if options.verb == "get" and len(options.words) != 2:
        raise Wrong("-get: write one file and the directory for the copies, as in: scout -g pcc -get /etc/hosts copies")
    if options.is_here and not options.words:
        raise Wrong("-e: the command is missing")
    if options.is_here and options.verb:
        raise Wrong(f"-e and -{options.verb}: leave one out")
    if options.scatter and not options.count:
        raise Wrong("-scatter: it is for -n COUNT")
    if options.through and options.rsh not in ("auto", "exec"):
        raise Wrong(f"-through and -rsh {options.rsh}: -through is for -rsh exec")
    if options.rsh == "exec" and not options.through:
        raise Wrong("-rsh exec: say with which command, as in: -through 'ip netns exec %h'")
    if not options.lock and (options.wait or options.force or options.count):
        raise Wrong("-no-lock: -wait, -force and -n need scored, who knows which hosts are free")


def read(arguments):
    """Options of a command line; Wrong."""
    options, rest = Options(), list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        if word in ("-e", "--exec"):
            options.is_here = True
            break
        _take(options, word, rest)
        if options.verb in ("help", "version"):
            return options
    options.words = rest
    _check(options)
    return options


def command(words):
    """The words to execute: several as they are; a single one with blanks or characters of the shell by sh. Wrong."""
    for word in words:
        if not word.isprintable():
            try:
                word.encode()
            except UnicodeEncodeError:
                raise Wrong("the command is no UTF-8 text, and cannot be sent to hosts; put it into a script there") \
                    from None
    if len(words) == 1 and any(letter.isspace() or letter in _OF_THE_SHELL for letter in words[0]):
        return ["/bin/sh", "-c", words[0]]
    return list(words)
