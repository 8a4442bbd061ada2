# SPDX-License-Identifier: BSD-3-Clause
#
# The command line of sclab: splits the words, calls the part that does the work, and turns every
# failure into one line and an exit status. Modules are imported where needed: `exec` starts fast.

import os
import signal
import sys

from . import plan as plans
from . import state as states
from .errors import EXIT_EXEC_FAILED, EXIT_NOT_ROOT, EXIT_USAGE, LabError, status_of
from .words import parser_for, split_exec, stop

HELP = """\
usage: sclab [--name LAB] COMMAND ...

  up [--hosts N | --grid AxBxC] [--nics N] [--mtu BYTES] [--rate R] [--queue BYTES]
     [--burst BYTES] [--limiter tbf|htb] [--fast-uplinks] [--spread] [--loss PCT] [--seed N]
     [--direct] [--offloads on|off|auto]
     [--ethernet [--mode auto|native|generic|tc]] [--share DIR]
     [--scheduler [--cores N|own] [--quantum TIME] [--checkpoints DIR]]
                          build a virtual cluster; --ethernet: with pm-ethernetd in each host;
                          --scheduler: with scored and scnoded, for scrun
  exec [-u USER] HOST [--] CMD...    run a command in a host
  exec [-u USER] --all [--] CMD...   run it in every host, lines marked with the host's name
  shell [-u USER] HOST               a shell in a host
  link HOST:NIC up|down              plug a cable in, or pull it
  loss HOST:NIC|--all PCT            lose frames of a link (0: none)
  rate HOST:NIC|--all R              limit a link, each way (none: no limit)
  status [--json]                    every cable: link, rate, loss
  config                             the cluster.toml of the lab
  hostfile [--slots N]               a host file for mpirun
  rsh-agent HOST CMD...              remote shell: mpirun --mca plm_rsh_agent "sclab rsh-agent"
  list                               the labs that exist on this machine, and which makers have ended
  down                               remove the lab and all that runs in it
  sweep [LAB...]                     remove labs that were tied to a process ($SCLAB_MAKER) that has ended
  --version                          print the version
  --vm COMMAND ...                   the same with virtual machines: see sclab --vm help

LAB is 'lab' or $SCLAB_NAME unless given. See sclab(1)."""


def need_root():
    if os.geteuid():
        raise LabError("needs root to make and enter network namespaces: run it with sudo",
                       EXIT_NOT_ROOT)


def running(lab):
    """State and plan of a lab that is up; for root, from where its switches can be reached."""
    state = states.load_running(lab)
    if not os.geteuid():
        from . import holder
        holder.enter_base(state)
    return state, plans.make_plan(state.options)


def parse_up(lab, args):
    """Options and the directories to share."""
    parser = parser_for("up")
    parser.add_argument("--hosts", type=int)
    parser.add_argument("--grid", type=plans.parse_grid)
    parser.add_argument("--nics", type=int, default=1)
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--rate", type=plans.parse_rate, default=0)
    parser.add_argument("--queue", type=plans.parse_queue, default=1 << 20)
    parser.add_argument("--burst", type=plans.parse_burst, default=0)
    parser.add_argument("--limiter", choices=plans.LIMITERS, default="tbf")
    parser.add_argument("--fast-uplinks", action="store_true")
    parser.add_argument("--spread", action="store_true")
    parser.add_argument("--loss", type=plans.parse_loss, default=0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--direct", action="store_true")
    parser.add_argument("--ethernet", action="store_true")
    parser.add_argument("--mode", choices=("auto", "native", "generic", "tc"), default="auto")
    parser.add_argument("--scheduler", action="store_true")
    parser.add_argument("--cores", type=plans.parse_cores)
    parser.add_argument("--quantum", default="")
    parser.add_argument("--checkpoints", default="")
    parser.add_argument("--offloads", choices=("on", "off", "auto"), default="auto")
    parser.add_argument("--share", action="append", default=[])
    given = parser.parse_args(args)
    if given.hosts is not None and given.grid:
        raise LabError("up: --hosts and --grid exclude each other", EXIT_USAGE)
    seed = given.seed if given.seed is not None else int.from_bytes(os.urandom(4), "little")
    options = plans.Options(
        lab=lab, shape=given.grid or (2 if given.hosts is None else given.hosts,),
        grid=bool(given.grid), nics=given.nics, mtu=given.mtu, rate=given.rate, queue=given.queue,
        burst=given.burst, limiter=given.limiter, fast_uplinks=given.fast_uplinks, spread=given.spread,
        loss_ppm=given.loss, seed=seed, direct=given.direct, ethernet=given.ethernet, mode=given.mode,
        offloads=given.offloads, scheduler=given.scheduler, cores=given.cores or "", quantum=given.quantum,
        checkpoints=given.checkpoints)
    return options, given.share


def shared_directories(asked):
    """Directories in the machine's /tmp, /run and /dev/shm that hosts see: the tree, the caller's directory,
    those that the caller asked for, and those that are always passed through."""
    from . import room
    found = []
    for path in (os.path.realpath(__file__), os.getcwd() + "/"):
        found.append(room.private_top(path))
    for path in asked:
        if not os.path.isdir(path):
            raise LabError(f"--share {path}: no such directory", EXIT_USAGE)
        if room.private_top(os.path.realpath(path)):
            found.append(os.path.realpath(path))
    return list(dict.fromkeys(p for p in (*found, *room.PASSED_THROUGH) if p and os.path.isdir(p)))


def do_up(lab, args):
    options, asked = parse_up(lab, args)
    plan = plans.make_plan(options)
    from . import maker
    tied = maker.of_environment()
    need_root()
    from . import build, ethernet, scheduler
    if options.ethernet:
        asked.append(os.path.dirname(os.path.dirname(ethernet.program())))
    if options.scheduler:
        asked.append(os.path.dirname(os.path.dirname(scheduler.programs()["scored"])))
    for number in (signal.SIGTERM, signal.SIGHUP):
        # as an interrupt: what has been built so far is removed
        signal.signal(number, stop)
    state = build.up(plan, shared_directories(asked), tied)
    shape = "x".join(map(str, options.shape))
    print(f"lab '{lab}' is up: {len(plan.hosts)} hosts {plan.range}"
          + (f" as a grid {shape}" if options.grid else "")
          + f", {len(plan.hosts[0].nics) - 1} data NICs each; config in "
          f"{state.directory}/cluster.toml")
    if options.ethernet:
        print(f"{ethernet.PROGRAM} runs in every host on {ethernet.nics(plan).replace(',', ' ')}")
    if options.scheduler:
        print(scheduler.describe(state))
    if options.loss_ppm:
        print(f"loss {options.loss_ppm} ppm, seed {options.seed}")
    return 0


def do_down(lab, args):
    parser_for("down").parse_args(args)
    need_root()
    from . import teardown
    teardown.down(lab)
    return 0


def take_user(args):
    """(user, rest) of [-u USER] rest..."""
    if args[:1] in (["-u"], ["--user"]):
        if len(args) < 2:
            raise LabError(f"{args[0]} needs the name of a user", EXIT_USAGE)
        return args[1], args[2:]
    return None, args


def do_exec(lab, args):
    user, args = take_user(args)
    if args[:1] in (["-h"], ["--help"]):
        print(HELP)
        return 0
    target, words = split_exec(args, "sclab")
    need_root()
    from . import run
    state = states.load_running(lab)
    if target == "--all":
        return run.run_in_all(state, words, user)
    return run.run_in(state, target, words, user)


def do_shell(lab, args):
    user, args = take_user(args)
    if len(args) != 1:
        raise LabError("shell: write sclab shell HOST", EXIT_USAGE)
    need_root()
    from . import run
    return run.shell(states.load_running(lab), args[0], user)


def do_rsh_agent(lab, args):
    need_root()
    from . import run
    return run.remote_shell(states.load_running(lab), args)


def parse_targets(command, plan, args, value_name):
    """NICs by switch, and the value, of HOST:NIC|--all VALUE."""
    if len(args) != 2:
        raise LabError(f"{command}: write sclab {command} HOST:NIC|--all {value_name}", EXIT_USAGE)
    if args[0] == "--all":
        nics = plan.data_nics()
    else:
        host, nic = plans.parse_target(args[0])
        nics = [plan.host(host).nic(nic)]
    by_name = {s.name: s for s in plan.switches}
    ports = {}
    for nic in nics:
        if not nic.switch or nic.dimension < 0:
            raise LabError(f"{command}: {nic.host}:{nic.name} is "
                           + ("the management NIC" if nic.switch else "joined without a switch")
                           + ": only data links of a switch have rates and losses", EXIT_USAGE)
        ports.setdefault(by_name[nic.switch].name, []).append(nic)
    return [(by_name[name], nics) for name, nics in ports.items()], args[1]


def do_loss(lab, args):
    state, plan = running(lab)
    ports, value = parse_targets("loss", plan, args, "PCT")
    ppm = plans.parse_loss(value)
    need_root()
    from . import loss
    if plan.options.offloads == "auto" and (ppm or args[0] == "--all"):
        loss.cut_segments(plan, bool(ppm))
    loss.lose(plan, state, ports, ppm)
    if ppm:
        print(f"loss {ppm} ppm, seed {plan.options.seed}")
    return 0


def do_rate(lab, args):
    _, plan = running(lab)
    ports, value = parse_targets("rate", plan, args, "RATE")
    rate = plans.parse_rate(value)
    need_root()
    from . import shaping
    shaping.limit(plan, ports, rate)
    return 0


def do_link(lab, args):
    _, plan = running(lab)
    if len(args) != 2 or args[1] not in ("up", "down"):
        raise LabError("link: write sclab link HOST:NIC up|down", EXIT_USAGE)
    host, name = plans.parse_target(args[0])
    nic = plan.host(host).nic(name)
    need_root()
    from . import tools
    # the switch's end, so that the host sees its carrier go and keeps its addresses
    namespace, device = (nic.switch, nic.port) if nic.switch else (host, name)
    tools.batch("ip", plan.namespace(namespace), [f"link set dev {device} {args[1]}"])
    return 0


def do_status(lab, args):
    parser = parser_for("status")
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args(args).json
    need_root()
    from . import status
    state, plan = running(lab)
    report = status.gather(plan, state)
    if as_json:
        import json
        print(json.dumps(report))
    else:
        print(status.table(report))
    return 0


def do_config(lab, args):
    parser_for("config").parse_args(args)
    with open(f"{states.load_running(lab).directory}/cluster.toml", encoding="utf-8") as f:
        sys.stdout.write(f.read())
    return 0


def do_hostfile(lab, args):
    parser = parser_for("hostfile")
    parser.add_argument("--slots", type=int, default=1)
    slots = parser.parse_args(args).slots
    from . import output
    sys.stdout.write(output.hostfile_text(running(lab)[1], slots))
    return 0


def do_list(_, args):
    parser_for("list").parse_args(args)
    from . import maker
    for name in states.names():
        state = states.load(name)
        print("  ".join([name, state.phase, *maker.words(state)] if state else [name, "empty"]))
    return 0


def do_sweep(_, args):
    parser = parser_for("sweep")
    parser.add_argument("labs", nargs="*", type=plans.parse_lab_name)
    labs = parser.parse_args(args).labs
    need_root()
    from . import sweep
    return sweep.sweep(labs)


COMMANDS = {"up": do_up, "down": do_down, "exec": do_exec, "shell": do_shell, "link": do_link,
            "loss": do_loss, "rate": do_rate, "status": do_status, "config": do_config,
            "hostfile": do_hostfile, "rsh-agent": do_rsh_agent, "list": do_list, "sweep": do_sweep}
VERBATIM = ("exec", "rsh-agent")      # their words belong to another command


def split(argv):
    """(lab, command, its words): --name goes before the command, or anywhere among its options."""
    words = list(argv)
    lab = os.environ.get("SCLAB_NAME", "lab")

    def take(at):
        nonlocal lab
        if words[at].startswith("--name="):
            lab = words.pop(at)[len("--name="):]
        elif at + 1 < len(words):
            lab = words.pop(at + 1)
            words.pop(at)
        else:
            raise LabError("--name needs the name of a lab", EXIT_USAGE)

    def is_name(word):
        return word == "--name" or word.startswith("--name=")

    while words and is_name(words[0]):
        take(0)
    command = words.pop(0) if words else "help"
    while words and is_name(words[0]):
        take(0)
    if command not in VERBATIM:
        while any(map(is_name, words)):
            take([is_name(w) for w in words].index(True))
    return plans.parse_lab_name(lab), command, words


def version():
    """The suite's; mk/ lies above us, in the tree as where it is installed."""
    import pathlib
    import re
    places = (folder / "mk" / "version.mk" for folder in pathlib.Path(__file__).resolve().parents)
    text = next(place for place in places if place.exists()).read_text("utf-8")
    return re.search(r"^VERSION\s*:=\s*(\S+)", text, re.M)[1]


def take_vm(argv):
    """(whether --vm stands before the command, the other words)."""
    at = 0
    while at < len(argv) and argv[at].startswith("--name"):
        at += 1 if "=" in argv[at] else 2
    if argv[at:at + 1] == ["--vm"]:
        return True, [*argv[:at], *argv[at + 1:]]
    return False, argv


def commands(is_vm):
    """By their names, and the help on them."""
    if not is_vm:
        return COMMANDS, HELP
    from . import vmcli
    return vmcli.COMMANDS, vmcli.HELP


def main(argv):
    command = ""
    try:
        is_vm, argv = take_vm(argv)
        lab, command, words = split(argv)
        known, text = commands(is_vm)
        if command in ("help", "-h", "--help"):
            print(text)
            return 0 if argv else EXIT_USAGE
        if command == "--version":
            print(f"sclab {version()}")
            return 0
        if command not in known:
            raise LabError(f"no command '{command}': see sclab {'--vm ' if is_vm else ''}help", EXIT_USAGE)
        return known[command](lab, words)
    except LabError as e:
        text, status = str(e), e.status
    except KeyboardInterrupt as e:
        text, status = "interrupted", 128 + (e.args[0] if e.args else signal.SIGINT)
    except OSError as e:
        text, status = f"{e.filename or 'system call'}: {e.strerror}", status_of(e.errno)
    print(f"sclab: {text}", file=sys.stderr)
    if command in VERBATIM and status < EXIT_EXEC_FAILED:
        # below that, statuses are the command's own
        return 255 if command == "rsh-agent" else EXIT_EXEC_FAILED
    return status
