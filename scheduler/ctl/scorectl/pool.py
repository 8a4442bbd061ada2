# SPDX-License-Identifier: BSD-3-Clause
"""pool - the command scpool: a cluster of one's own on some hosts, for as long as it is wanted. scored runs here."""

import argparse
import json
import os
import pathlib
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time

import pmcommand
from pmcommand import Failure
from pmtopo import hostexpr, hostlist

from . import command, words
from .crew import Crew, Trouble
from .link import Link, Unreachable
from .munge import Refused

NAME = "scpool"
_READY_S, _END_S = 10, 20
_HERE = pathlib.Path(__file__).resolve()


def _place(name):
    """Where the pool of that name is written down; on the hosts .HOST stands behind it."""
    return pathlib.Path(f"/tmp/openscore-pool-{os.geteuid()}.{name}")


def _program(name, directory):
    # share/openscore/scheduler/ctl/scorectl of an installation has sbin five steps up.
    path = ":".join([directory] if directory else
                    [os.environ.get("PATH", ""), str(_HERE.parents[5] / "sbin"), "/usr/local/sbin", "/usr/sbin"])
    found = shutil.which(name, path=path)
    if not found:
        raise Failure(command.TROUBLE, f"{NAME}: {name} is not in {path}; name its place with --programs")
    return os.path.realpath(found)


# ---- scored, here ----

def _await_ready(notify, process, log):
    """scored says so to its service manager, which we are."""
    end = time.monotonic() + _READY_S
    notify.settimeout(0.2)
    while time.monotonic() < end and process.poll() is None:
        try:
            if b"READY=1" in notify.recv(4096):
                return int(re.search(r"ready, port (\d+)", log.read_text())[1])
        except TimeoutError:
            continue
    raise Trouble(f"scored: {log.read_text().strip() or 'it does not get ready'}")


def _start_scored(program, place, args):
    call = [program, "--listen", "0", "--state", str(place / "state")]
    if args.quantum:
        call += ["--quantum", args.quantum]
    if args.munge_socket:
        call += ["--munge-socket", args.munge_socket]
    log = place / "scored.log"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify, log.open("w") as out:
        notify.bind(str(place / "notify"))
        process = subprocess.Popen(call, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
                                   cwd="/", env={**os.environ, "NOTIFY_SOCKET": str(place / "notify")})
        (place / "scored.pid").write_text(str(process.pid))
        return _await_ready(notify, process, log)


def _end_scored(place):
    try:
        pid = int((place / "scored.pid").read_text())
        if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() != "scored":
            return
        handle = os.pidfd_open(pid)
    except (OSError, ValueError):
        return  # it has ended before
    try:
        signal.pidfd_send_signal(handle, signal.SIGTERM)
        select.select([handle], [], [], _END_S)
    finally:
        os.close(handle)


# ---- the whole ----

def _crew(record):
    return Crew(record["hosts"], record["base"], record["through"])


def _await_hosts(link, hosts, seconds):
    """Until all are registered; the names of those that are not."""
    end = time.monotonic() + seconds
    answer = link.ask({"op": "activity", "every_s": 0.2})
    while True:
        missing = set(hosts) - {host["name"] for host in answer["hosts"] if host["state"] == "up"}
        if not missing or time.monotonic() > end:
            return missing
        answer = link.receive()


def _await_no_jobs(link):
    end = time.monotonic() + _END_S
    link.ask({"op": "cancel", "all": True})
    answer = link.ask({"op": "activity", "every_s": 0.2})
    while answer["jobs"] and time.monotonic() < end:
        answer = link.receive()
    return len(answer["jobs"])


def _take_down(place, record, is_forced=False):
    """All of it, whatever part is there; sentences about what could not be done. What is left on hosts that cannot be
    reached is remembered, unless forced."""
    said, is_reached = [], True
    try:
        left = _await_no_jobs(Link(record["local"], munge_socket=record["munge_socket"]))
        if left:
            said.append(f"{words.count(left, 'job')} did not end within {_END_S} s")
    except KeyError:
        pass  # it never had a scored
    except (Unreachable, Refused) as problem:
        said.append(f"jobs were not cancelled ({problem}); they end with their scnoded")
    try:
        _crew(record).down()
    except Trouble as problem:
        is_reached = False
        said.append(f"the hosts were not all reached, so something may be left there: '{NAME} down' tries again, with "
                    f"--force it forgets them\n{problem}")
    _end_scored(place)
    if is_reached or is_forced:
        shutil.rmtree(place)
    return said


def _expand(text):
    try:
        names = hostexpr.expand(text)
    except hostlist.HostlistError as error:
        raise Failure(command.USAGE, f"{NAME}: {text}: at character {error.at + 1}: {error.why}") from None
    return list(dict.fromkeys(name.split(".")[0] if not name[0].isdigit() else name for name in names))


def _bring_up(place, args):
    """The record of a pool whose hosts have all registered."""
    hosts = _expand(args.hosts)
    scored, scnoded = (_program(name, args.programs) for name in ("scored", "scnoded"))
    try:
        place.mkdir(0o700)
    except FileExistsError:
        raise Failure(command.TROUBLE, f"{NAME}: {place} is there: a private cluster runs, or was left behind; "
                      f"{NAME} down ends it") from None
    record = {"hosts": hosts, "through": shlex.split(args.through) if args.through else None,
              "base": str(place), "munge_socket": args.munge_socket}
    try:
        (place / "pool.json").write_text(json.dumps(record))
        port = _start_scored(scored, place, args)
        record |= {"local": f"localhost:{port}", "server": f"{args.address or socket.gethostname()}:{port}"}
        (place / "pool.json").write_text(json.dumps(record))
        extra = ["--cores", args.cores] if args.cores else []
        _crew(record).up(scnoded, record["server"], args.munge_socket, extra)
        missing = _await_hosts(Link(record["local"], munge_socket=args.munge_socket), hosts, args.wait)
        if missing:
            raise Trouble(f"{words.hosts(missing)} did not register with scored at {record['server']} within "
                          f"{args.wait:g} s; is that address reached from there (--address), does munged run with "
                          f"the same key? Last lines of scnoded:\n{_crew(record).log()}")
    except BaseException as problem:
        for text in _take_down(place, record):
            print(f"{NAME}: {text}", file=sys.stderr)
        if isinstance(problem, (Trouble, Unreachable, Refused)):
            raise Failure(command.TROUBLE, f"{NAME}: {problem}") from None
        raise
    return record


def _up(args):
    record = _bring_up(_place(args.name), args)
    if args.json:
        print(json.dumps({"server": record["server"], "hosts": record["hosts"]}))
    else:
        print(f"export SCORE_SERVER={record['server']}")
        print(f"{NAME}: {words.count(len(record['hosts']), 'host')} up; '{NAME} down' ends them", file=sys.stderr)
    return command.OK


def _down(args):
    place = _place(args.name)
    try:
        if place.lstat().st_uid != os.geteuid():
            raise Failure(command.TROUBLE, f"{NAME}: {place} is not ours; choose another --name")
        record = json.loads((place / "pool.json").read_text())
    except FileNotFoundError:
        raise Failure(command.TROUBLE, f"{NAME}: there is no private cluster \"{args.name}\" of yours on this host; "
                      "end it where it was started") from None
    said = _take_down(place, record, args.force)
    for text in said:
        print(f"{NAME}: {text}", file=sys.stderr)
    if place.exists():
        return command.TROUBLE
    if args.json:
        print(json.dumps({"hosts": record["hosts"], "notes": said}))
    return command.OK


def _run(args):
    place = _place(args.name)
    record = _bring_up(place, args)
    env = {**os.environ, "SCORE_SERVER": record["server"]}
    if args.munge_socket:
        env["SCORE_MUNGE_SOCKET"] = args.munge_socket
    try:
        code = subprocess.run(args.command or [os.environ.get("SHELL", "/bin/sh")], env=env, check=False).returncode
    except OSError as problem:
        raise Failure(127, f"{NAME}: {args.command[0]}: {problem.strerror}") from None
    finally:
        for text in _take_down(place, record):
            print(f"{NAME}: {text}", file=sys.stderr)
    return code if code >= 0 else 128 - code


def _name(text):
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", text):
        raise ValueError
    return text


_name.__name__ = "name of letters, digits, _ and -"


def _parser():
    parser = argparse.ArgumentParser(
        prog=NAME, description="Starts and ends a cluster of one's own: scored here, scnoded on the hosts by pdsh.",
        epilog="Exit status: 0 fine, 1 it did not come up or go down, 2 wrong call; run: that of the command. See "
        f"{NAME}(1).")
    pmcommand.add_version(parser)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--name", type=_name, default="default", help="of one of several; default: default")
    common.add_argument("--json", action="store_true", help="print JSON")
    start = argparse.ArgumentParser(add_help=False)
    start.add_argument("hosts", metavar="HOSTS", help="such as n[00-07]")
    start.add_argument("--through", metavar="COMMAND", help="by pdsh -R exec and this command with %%h in the place of "
                       "the host, such as 'lxc exec %%h --'; default: ssh")
    start.add_argument("--address", metavar="HOST", help="of this host, as the others reach it; default: its name")
    start.add_argument("--cores", metavar="LIST", help="of each host, see scnoded(8)")
    start.add_argument("--quantum", metavar="TIME", help="see scored(8)")
    start.add_argument("--programs", metavar="DIR", help="where scored and scnoded are, here and there")
    start.add_argument("--munge-socket", metavar="PATH", default=os.environ.get("SCORE_MUNGE_SOCKET"),
                       help="default: $SCORE_MUNGE_SOCKET, munge's own")
    start.add_argument("--wait", metavar="SECONDS", type=command.seconds, default=15.0,
                       help="for all hosts to register; default: 15")
    commands = parser.add_subparsers(dest="verb", required=True, metavar="COMMAND")
    for name, work, text, parents in (("up", _up, "start it and print the line for the shell", [common, start]),
                                      ("down", _down, "end it, with its jobs", [common]),
                                      ("run", _run, "start it, run a command in it, end it", [common, start])):
        sub = commands.add_parser(name, parents=parents, help=text, description=f"{text[0].upper()}{text[1:]}.")
        sub.set_defaults(do=work)
    commands.choices["down"].add_argument("--force", action="store_true", help="also forget hosts that are not reached")
    sub.usage = f"{NAME} run [OPTION...] HOSTS [-- COMMAND [ARGUMENT...]]"
    sub.epilog = "Without a command: a shell."
    return parser


def _split(arguments):
    """Those before the first --, and those after it."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1:]


def main():
    """Exit code of scpool."""
    ours, theirs = _split(sys.argv[1:])
    parser = _parser()
    args = parser.parse_args(ours)
    if theirs and args.verb != "run":
        parser.error(f"{args.verb} takes no command")
    args.command = theirs
    return pmcommand.run(NAME, lambda: args.do(args), error=command.TROUBLE, unread=command.OK)
