# SPDX-License-Identifier: BSD-3-Clause
#
# `sclab --vm`: the commands for labs of virtual machines. Hosts, NICs, names and addresses are those of the
# plan for namespaces; what boots and joins them is tests/vm/vmlab, which lies in the tree only.

import json
import os
import shlex
import signal
import sys

from . import maker, output, plan as plans, room, status, vmclient, vmstate
from .errors import EXIT_NO_LAB, EXIT_USAGE, LabError
from .words import parser_for, split_exec, stop

HERE = os.path.dirname(os.path.realpath(__file__))
TREE = os.path.realpath(f"{HERE}/../../..")
MAX_HOSTS = 16
# Drops the cached files of a guest, so that it runs programs that were rebuilt since it last used them.
FRESH = "echo 2 >/proc/sys/vm/drop_caches\n"
LINKS = "for nic in /sys/class/net/*; do echo \"${nic##*/} $(cat $nic/carrier 2>/dev/null)\"; done"

HELP = """\
usage: sclab --vm [--name LAB] COMMAND ...

  up [--hosts N] [--nics N] [--mtu BYTES] [--memory MIB] [--processors N] [--kernel DIR] [--zero-copy]
                          boot virtual machines, with soft RDMA (rxe) on each data NIC; --kernel: as
                          tests/vm/kernel-fetch leaves it; --zero-copy: NICs whose driver can do it
  exec HOST [--] CMD...   run a command in a host, without input; its exit status is ours
  exec --all [--] CMD...  run it in every host, lines marked with the host's name
  link HOST:NIC up|down   plug a cable in, or pull it
  status [--json]         every host and NIC
  config                  the cluster.toml of the lab
  list                    the labs of virtual machines that exist on this machine
  down                    end the machines and remove the lab

LAB is 'lab' or $SCLAB_NAME unless given. See sclab(1)."""


def load_vmlab():
    place = f"{TREE}/tests/vm"
    if not os.path.isdir(f"{place}/vmlab"):
        raise LabError("--vm works from a source tree only: call tests/lab/sclab in one")
    sys.path.insert(0, place)
    import vmlab
    import vmlab.rdma
    return vmlab


def build_directory():
    return os.path.realpath(os.environ.get("PM_BUILD") or os.environ.get("BUILD") or f"{TREE}/build")


# ---- up ----

def parse_up(lab, args):
    parser = parser_for("up")
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--nics", type=int, default=1)
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--memory", type=int, default=320)
    parser.add_argument("--processors", type=int, default=1)
    parser.add_argument("--kernel", default="")
    parser.add_argument("--zero-copy", action="store_true")
    given = parser.parse_args(args)
    if given.hosts > MAX_HOSTS:
        raise LabError(f"{given.hosts} virtual machines are too many: 1 to {MAX_HOSTS} are possible", EXIT_USAGE)
    if given.memory < 128 or given.processors < 1:
        raise LabError("a virtual machine has at least 128 MiB and one processor", EXIT_USAGE)
    return given, plans.make_plan(plans.Options(lab=lab, shape=(given.hosts,), nics=given.nics, mtu=given.mtu))


def choose_kernel(vmlab, asked):
    if asked:
        kernel = vmlab.unpacked(os.path.realpath(asked))
        if not kernel:
            raise LabError(f"--kernel {asked}: no kernel there; run tests/vm/kernel-fetch {asked}", EXIT_USAGE)
        return kernel
    if reason := vmlab.skip_reason(build_directory()):
        raise LabError(reason)
    return vmlab.find_kernels(build_directory())[0]


def nets_of(vmlab, plan, given):
    return [vmlab.Net(tuple(vmlab.Nic(nic.host, nic.name, nic.mac, f"{nic.address}/{plans.PREFIX}")
                            for nic in switch.nics),
                      plans.MANAGEMENT_MTU if switch.is_management else given.mtu,
                      vmlab.MAPPED if given.zero_copy and not switch.is_management else "")
            for switch in plan.switches]


def describe(vmlab, machines, plan, given):
    """Sets up RDMA and rsh in a lab that has come up; returns its description, for later commands."""
    data = [nic.name for nic in plan.hosts[0].nics if nic.dimension >= 0]
    why = vmlab.rdma.set_up(machines, data) if data else "no data NIC"
    machines.serve_rsh(0)
    rdma = {} if why else {nic: f"rxe{number}" for number, nic in enumerate(data)}
    nics = {host.name: [{"name": nic.name, "mac": nic.mac, "address": f"{nic.address}/{plans.PREFIX}",
                         "rdma": rdma.get(nic.name, "")} for nic in host.nics] for host in plan.hosts}
    return {"lab": plan.options.lab, "kernel": machines.guests[0].release, "accelerator": machines.accelerator[1],
            "mtu": given.mtu, "no_rdma": why, "nics": nics, "config": output.config_text(plan)}


def do_up(lab, args):
    given, plan = parse_up(lab, args)
    vmlab = load_vmlab()
    kernel = choose_kernel(vmlab, given.kernel)
    from . import vmkeeper
    shared = [top for top in map(room.private_top, (f"{TREE}/", os.getcwd() + "/")) if top]

    def make():
        machines = vmlab.Lab(build_directory(), [host.name for host in plan.hosts], kernel=kernel,
                             memory_mib=given.memory, processors=given.processors,
                             nets=nets_of(vmlab, plan, given),
                             hosts=output.hosts_text(plan).splitlines()[1:],
                             keep=shared, directory=f"{vmstate.directory(lab)}/guests")
        return machines, lambda: describe(vmlab, machines, plan, given), (vmlab.Trouble, vmlab.Failed)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    found = vmkeeper.start(lab, make)
    rdma = ", ".join(f"{nic['rdma']} on {nic['name']}" for nic in found["nics"]["h0"] if nic["rdma"])
    print(f"lab '{lab}' is up: {len(plan.hosts)} virtual machines {plan.range} with Linux {found['kernel']} by "
          f"{found['accelerator'].partition(',')[0]}, {len(plan.hosts[0].nics) - 1} data NICs each; "
          + (f"RDMA: {rdma}" if rdma else f"no RDMA: {found['no_rdma']}"))
    return 0


# ---- the others ----

def do_down(lab, args):
    parser_for("down").parse_args(args)
    vmclient.down(lab)
    return 0


def environment(lab, host):
    """The caller's, as in namespaces; its temporary directory is not the guest's, nor are its processes."""
    env = {"OMPI_MCA_plm_rsh_agent": "/run/lab/rsh", "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
           "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           **os.environ, "HOME": "/root", "USER": "root", "LOGNAME": "root", "SCLAB_NAME": lab, "SCLAB_HOST": host}
    env.pop("TMPDIR", None)
    env.pop(maker.VARIABLE, None)
    return env


def command_for(lab, host, argv):
    settings = [f"{name}={value}" for name, value in environment(lab, host).items()]
    return FRESH + f"cd {shlex.quote(os.getcwd())} 2>/dev/null || cd /\nexec env -i {shlex.join(settings + argv)}"


def do_exec(lab, args):
    if args[:1] in (["-h"], ["--help"]):
        print(HELP)
        return 0
    target, words = split_exec(args, "sclab --vm")
    signal.signal(signal.SIGTERM, stop)
    hosts = list(vmclient.describe(lab)["nics"])
    if target == "--all":
        return vmclient.run_in_all(lab, hosts, lambda host: command_for(lab, host, words))
    need_host(lab, hosts, target)
    return vmclient.Command(lab, target, command_for(lab, target, words)).wait()


def need_host(lab, hosts, name):
    if name not in hosts:
        raise LabError(f"lab '{lab}' has no host {name}: its hosts are {hosts[0]} to {hosts[-1]}", EXIT_NO_LAB)


def do_link(lab, args):
    if len(args) != 2 or args[1] not in ("up", "down"):
        raise LabError("link: write sclab --vm link HOST:NIC up|down", EXIT_USAGE)
    host, nic = plans.parse_target(args[0])
    nics = vmclient.describe(lab)["nics"]
    need_host(lab, list(nics), host)
    if nic not in [each["name"] for each in nics[host]]:
        raise LabError(f"host {host} has no NIC {nic}", EXIT_NO_LAB)
    vmclient.set_link(lab, host, nic, args[1] == "up")
    return 0


def report(lab):
    """The description of the lab, with the state of every link as the guests see it now."""
    found = vmclient.describe(lab)
    del found["config"]
    for host, nics in found["nics"].items():
        carriers = {}
        if host not in found["ended"]:
            carriers = dict(line.partition(" ")[::2] for line in vmclient.text_of(lab, host, LINKS).splitlines())
        for nic in nics:
            nic["link"] = "up" if carriers.get(nic["name"]) == "1" else "down"
    return found


def do_status(lab, args):
    parser = parser_for("status")
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args(args).json
    found = report(lab)
    if as_json:
        print(json.dumps(found))
        return 0
    rows = [("HOST", "NIC", "ADDRESS", "LINK", "RDMA")]
    for host, nics in found["nics"].items():
        rows += [(host, nic["name"], nic["address"], nic["link"], nic["rdma"] or "-") for nic in nics]
    print(f"Linux {found['kernel']} by {found['accelerator']}; consoles: {vmstate.directory(lab)}/guests/*/console")
    print(status.columns(rows))
    for why in found["ended"].values():
        print(why)
    return 0


def do_config(lab, args):
    parser_for("config").parse_args(args)
    sys.stdout.write(vmclient.describe(lab)["config"])
    return 0


def do_list(_, args):
    parser_for("list").parse_args(args)
    for name in vmstate.names():
        fd = vmstate.try_lock(vmstate.directory(name))
        if fd is not None:
            os.close(fd)
            print(f"{name}  left behind")
        else:
            print(f"{name}  {'up' if os.path.exists(vmstate.control_path(name)) else 'building'}")
    return 0


COMMANDS = {"up": do_up, "down": do_down, "exec": do_exec, "link": do_link, "status": do_status,
            "config": do_config, "list": do_list}
