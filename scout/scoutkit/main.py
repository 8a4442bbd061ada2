# SPDX-License-Identifier: BSD-3-Clause
"""main - the command scout: which of its works is meant, on which hosts, with which lock."""

import os
import signal
import sys

from . import hosts, locks, loop, options as command_line
from .terminal import say

TROUBLE, USAGE = 1, 2
SESSION = "SCOUT_SESSION"


def _version():
    import re
    place = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "mk", "version.mk")
    with open(place, encoding="utf-8") as file:
        return re.search(r"^VERSION\s*:=\s*(\S+)", file.read(), re.M)[1]


def _work(options, agents, cluster):
    """Does the work that needs agents; the exit code."""
    if options.verb == "put":
        from . import put
        return put.run(agents, options, cluster)
    if options.verb == "get":
        from . import get
        return get.run(agents, options)
    from . import shell  # not before hosts have something to do meanwhile
    return shell.run(agents, options)


# ---- in a session ----

def _in_session(options):
    from . import inside
    with loop.Loop() as turns, inside.Joined(turns, os.environ[SESSION]) as session:
        if options.verb == "private-scored":
            from . import pool
            print(pool.start(session, options))
            return 0
        if not options.words:
            return session.tell(options)
        cluster = hosts.Cluster()
        wanted = cluster.chosen(options) if options.group or options.file else cluster.without(
            session.hosts, options)
        hosts.check_count(options.count, wanted)
        wanted = wanted[:options.count]
        options.stdin = options.stdin and not session.is_its_input()
        return _work(options, session.part(wanted), cluster)


# ---- outside ----

def _outside(options):
    from . import opening   # its credentials and seals are not for commands in a session
    cluster = hosts.Cluster()
    names = cluster.chosen(options)
    hosts.check_count(options.count, names)
    is_session = options.is_here or not (options.words or options.verb)
    with locks.lock(options, names, "exclusive" if is_session else "shared") as lock, loop.Loop() as turns:
        if not cluster.has(names):
            lock.take()     # scored knows sooner what is no host than a search for its address
        with opening.reached(turns, lock.hosts, cluster, options, lock.is_due) as agents:
            if lock.is_due:
                lock.take(turns)
                agents.way.go()
            lock.watch(turns)
            if is_session:
                from . import session
                return session.run(agents, options, lock)
            code = _work(options, agents, cluster)
            lock.release()  # nothing runs any more: nobody need wait for the agents' ends
            return code


def _run(arguments):
    options = command_line.read(arguments)
    if options.verb == "help":
        sys.stdout.write(command_line.USAGE)
        return 0
    if options.verb == "version":
        print(f"scout {_version()}")
        return 0
    if os.environ.get(SESSION):
        return _in_session(options)
    if not (options.group or options.file):
        raise command_line.Wrong("on which hosts? Name them with -g, or begin a session: scout -g EXPR"
                                 if options.words else "this is no session: scout -g EXPR begins one, "
                                 "scout --help tells more")
    return _outside(options)


def _prepare():
    """Opens standard descriptors that our caller has left closed, so that no connection gets their numbers. Makes
    interrupts raise exceptions, so that a lock is given back."""
    handle = os.open(os.devnull, os.O_RDWR)
    while handle <= 2:
        handle = os.dup(handle)
    os.close(handle)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)
    for number in loop.INTERRUPTS:
        if signal.getsignal(number) == signal.SIG_DFL:  # one that is ignored stays so
            signal.signal(number, signal.default_int_handler)


def main():
    """Exit code of scout."""
    _prepare()
    try:
        code = _run(sys.argv[1:])
        print(end="", flush=True)  # here, where a reader that has gone is known
        return code
    except (command_line.Wrong, hosts.Wrong) as problem:
        say(problem)
        return USAGE
    except locks.Trouble as trouble:
        say(trouble)
        return locks.CODE
    except BrokenPipeError:
        # The reader (head, less) has enough. Python would complain again while closing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 128 + 13
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    except Exception as problem:  # those of modules that are loaded only where they are needed
        code = getattr(problem, "code", None)
        if isinstance(problem, OSError):
            say(problem.strerror or problem)
            return TROUBLE
        if code is None:
            raise
        say(str(problem).removeprefix("scout: "))
        return code
