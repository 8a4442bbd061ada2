# SPDX-License-Identifier: BSD-3-Clause
"""pmtopo from text to cluster.json: what is accepted means what it should, nothing else passes."""

import contextlib
import io
import ipaddress
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "configs"))

from pmtopo import addresses, cli, document, options, resolve, schema, values  # noqa: E402

EXAMPLES = sorted((TREE / "configs" / "examples").glob("*.toml"))
SCHEMA = json.loads((TREE / "configs" / "schema" / "cluster.schema.json").read_text())
HOSTS = '[[hosts]]\nrange = "n[0-3]"\n'


@pytest.fixture
def load(tmp_path):
    """Text -> (cluster.json as a tree or None, lines of problems)."""
    def run(text):
        path = tmp_path / "cluster.toml"
        path.write_text(text)
        cluster, problems = resolve.resolve(document.load(path))
        if cluster is None:
            return None, [line.split("cluster.toml:", 1)[1] for line in problems.lines()]
        assert not problems.lines()
        return json.loads("".join(cli.emit.pieces(cluster))), []
    return run


def faults(value, rule, path="$"):
    """The part of JSON Schema that our schema uses."""
    if "$ref" in rule:
        rule = SCHEMA["$defs"][rule["$ref"].rsplit("/", 1)[1]]
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
    wanted = rule.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if wanted and not any(isinstance(value, kinds[kind]) and not isinstance(value, bool)
                          for kind in wanted):
        yield f"{path}: not {wanted}"
        return
    if "const" in rule and value != rule["const"] or "enum" in rule and value not in rule["enum"]:
        yield f"{path}: {value!r}"
    if isinstance(value, int) and not (rule.get("minimum", value) <= value
                                       <= rule.get("maximum", value)):
        yield f"{path}: {value} out of range"
    if isinstance(value, str) and not re.search(rule.get("pattern", ""), value):
        yield f"{path}: {value!r} does not match"
    if isinstance(value, list):
        if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)):
            yield f"{path}: {len(value)} items"
        for index, item in enumerate(value):
            yield from faults(item, rule["items"], f"{path}[{index}]")
    if isinstance(value, dict):
        yield from (f"{path}: no {key}" for key in rule.get("required", []) if key not in value)
        for key, item in value.items():
            inner = rule.get("properties", {}).get(key, rule.get("additionalProperties"))
            if inner is False:
                yield f"{path}: unknown {key}"
            else:
                yield from faults(item, inner, f"{path}.{key}")


@pytest.mark.parametrize("example", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_resolve__examples_obey_the_schema(example, load):
    tree, _ = load(example.read_text())
    assert list(faults(tree, SCHEMA)) == []
    for index, host in enumerate(tree["hosts"]):
        assert host["id"] == index


def test_schema__check_notices_a_fault(load):
    tree, _ = load(HOSTS)
    tree["hosts"][1]["rails"] = [{"network": 3}]
    tree["extra"] = 1
    assert len(list(faults(tree, SCHEMA))) == 3


def test_resolve__pacs_cs(load):
    tree, _ = load((TREE / "configs/examples/pacs-cs.toml").read_text())
    hosts = tree["hosts"]
    assert len(hosts) == 2560
    assert len({tuple(host["coords"]) for host in hosts}) == 2560
    assert hosts[1]["coords"] == [0, 0, 1]
    assert hosts[10]["coords"] == [0, 1, 0]
    assert hosts[160]["coords"] == [1, 0, 0]
    assert hosts[2559]["coords"] == [15, 15, 9]
    assert [rail["dim"] for rail in hosts[7]["rails"]] == [0, 0, 1, 1, 2, 2]


def test_resolve__flat_example_addresses(load):
    tree, _ = load((TREE / "configs/examples/flat-32.toml").read_text())
    host = tree["hosts"][31]
    assert (host["name"], host["state"], host["address"]) == ("n031", "spare", "10.0.0.32")
    assert [(rail["address"], rail["mac"]) for rail in host["rails"]] == [
        ("10.1.0.32", "02:00:00:00:01:20"), ("10.2.0.32", "02:00:00:00:02:20")]
    assert tree["hosts"][17]["state"] == "defect"
    groups = {group["name"]: group["hosts"] for group in tree["groups"]}
    assert groups["good"] == [host for host in range(32) if host != 17]


def test_resolve__override_renames_the_rails_of_a_host(load):
    tree, _ = load(HOSTS + 'addresses = { eth1 = "10.1.0.[1-4]" }\n'
                   '[networks.lan]\ntype = "udp"\nrails = ["eth1", "eth2"]\n'
                   '[overrides.n2.udp]\nrails = ["enp3s0", "10.2.0.0/24"]\n')
    assert tree["hosts"][2]["rails"] == [
        {"network": "lan", "rail": 0, "device": "enp3s0", "address": "10.1.0.3"},
        {"network": "lan", "rail": 1, "subnet": "10.2.0.0/24"}]
    assert tree["hosts"][2]["pm"] == {"udp.rails": "enp3s0+10.2.0.0/24"}
    assert tree["hosts"][1]["rails"][1] == {"network": "lan", "rail": 1, "device": "eth2"}


def test_resolve__ethernet_and_udp_share_interfaces(load):
    tree, _ = load(HOSTS + 'addresses = { eth1 = "10.1.0.[1-4]" }\n'
                   '[networks.raw]\ntype = "ethernet"\nrails = ["eth1", "eth2"]\n'
                   'ethertype = 0x88b6\nmode = "generic"\ndirect = "root"\n'
                   '[networks.lan]\ntype = "udp"\n'
                   'rails = [{ device = "eth1", subnet = "10.1.0.0/24" }]\n'
                   '[pm.ethernet]\nattach = "port"\nsocket = "/run/other"\n'
                   '[overrides.n1.ethernet]\nrails = ["enp3s0"]\n')
    assert tree["networks"][0] == {
        "name": "raw", "type": "ethernet", "ethertype": 0x88b6, "mode": "generic",
        "direct": "root", "rails": [{"rail": 0, "device": "eth1"}, {"rail": 1, "device": "eth2"}]}
    assert tree["pm"] == {"devices": "self+ethernet+udp", "ethernet.rails": "eth1+eth2",
                          "udp.rails": "eth1", "ethernet.attach": "port",
                          "ethernet.socket": "/run/other"}
    assert tree["hosts"][1]["rails"] == [
        {"network": "raw", "rail": 0, "device": "enp3s0", "address": "10.1.0.2"},
        {"network": "lan", "rail": 0, "device": "eth1", "address": "10.1.0.2"}]
    assert list(faults(tree, SCHEMA)) == []


WATCHED = (HOSTS + '[topology]\nkind = "hypercrossbar"\ndims = [4]\n'
           '[networks.raw]\ntype = "ethernet"\nrails = [{{ device = "eth1", dim = "x" }}]\nwatch = {}\n')


@pytest.mark.parametrize(("text", "watch_ms"), [('"1ms"', 1), ('"40ms"', 40), ('"1s"', 1000), ("0", 0)])
def test_resolve__how_often_neighbours_are_watched(text, watch_ms, load):
    tree, _ = load(WATCHED.format(text))
    assert tree["networks"][0]["watch_ms"] == watch_ms
    assert list(faults(tree, SCHEMA)) == []


@pytest.mark.parametrize(("text", "word"), [('"2s"', '"1ms" to "1000ms"'), ('"100us"', "whole ms"), ("25", '"25ms"'),
                                            ('"often"', "no time"), ("true", "text in quotes")])
def test_resolve__a_watch_that_there_is_not(text, word, load):
    _, problems = load(WATCHED.format(text))
    assert len(problems) == 1 and "networks.raw.watch" in problems[0] and word in problems[0]


def test_resolve__without_a_topology_nobody_is_watched(load):
    _, problems = load(HOSTS + '[networks.raw]\ntype = "ethernet"\nrails = ["eth1"]\nwatch = "25ms"\n')
    assert problems == ["6: networks.raw.watch: nobody is watched without [topology]; remove the key, or describe the "
                        "topology"]
    _, problems = load(HOSTS + '[networks.lan]\ntype = "udp"\nrails = ["eth1"]\nwatch = "25ms"\n')
    assert "a network of type udp has no watch" in problems[0]


def test_resolve__subnet_of_udp_is_checked_beside_ethernet(load):
    _, problems = load(HOSTS + 'addresses = { eth1 = "10.9.0.[1-4]" }\n'
                       '[networks.lan]\ntype = "udp"\n'
                       'rails = [{ device = "eth1", subnet = "10.1.0.0/24" }]\n'
                       '[networks.raw]\ntype = "ethernet"\nrails = ["eth1"]\n')
    assert len(problems) == 1 and "10.9.0.1" in problems[0]


def test_resolve__pm_wins_over_the_network(load):
    tree, _ = load(HOSTS + '[networks.lan]\ntype = "udp"\nrails = ["eth1", "eth2"]\nmtu = 9000\n'
                   '[pm]\ndevices = ["udp"]\nudp.rails = ["eth2"]\nudp.mtu = 1500\n'
                   'shmem.ring = "1MiB"\nwait.spin = "1ms"\nudp.gso = false\n')
    assert tree["pm"] == {"devices": "udp", "udp.rails": "eth2", "udp.mtu": "1500", "udp.gso": "0",
                          "shmem.ring": "1048576", "wait.spin": "1000"}


def test_resolve__one_address_for_management_and_data(load):
    text = ('address = "10.0.0.[1-4]"\naddresses = { eth0 = "10.0.0.[1-4]" }\n'
            '[networks.lan]\ntype = "udp"\nrails = ["eth0"]\n')
    assert load(HOSTS + text)[1] == []
    shifted = text.replace('eth0 = "10.0.0.[1-4]"', 'eth0 = "10.0.0.[2-5]"')
    assert load(HOSTS + shifted)[1] == [
        '4: hosts[0].addresses.eth0: "10.0.0.2" of n0 is also given to n1 on line 3 (and 2 more '
        "like it); give each its own"]


def test_resolve__ipv6(load):
    tree, problems = load(HOSTS + 'address = "fd00::[e-11]"\n')
    assert problems == []
    assert [host["address"] for host in tree["hosts"]] == ["fd00::e", "fd00::f", "fd00::10",
                                                           "fd00::11"]


def test_resolve__a_wrong_range_is_told_once(load):
    _, problems = load('[[hosts]]\nrange = "n[0-"\naddress = "10.0.0.1"\n[groups]\na = "n1"\n'
                       '[overrides.n2.udp]\nmtu = 1500\n[cluster]\nspares = "n3"\n')
    assert len(problems) == 1


def test_resolve__wrong_rails_are_told_once(load):
    _, problems = load(HOSTS + 'addresses = { eth1 = "10.0.0.[1-4]" }\n'
                       '[networks.lan]\ntype = "udp"\nrails = ["et h1"]\n')
    assert len(problems) == 1


@pytest.mark.parametrize("dims, hosts, text", [
    ("[1024, 64]", 65536, ""), ("[1025]", 1025, "1025 is out of range; write a number from 1 to 1024"),
    ("[1, 1, 1, 1, 1, 1, 1]", 1, "6"), ("[1024, 65]", 66560, "66560 hosts, and a hypercrossbar has at most 65536")])
def test_resolve__limits_of_a_hypercrossbar(load, dims, hosts, text):
    tree, problems = load(f'[topology]\nkind = "hypercrossbar"\ndims = {dims}\n'
                          f'[[hosts]]\nrange = "n[0-{hosts - 1}]"\n')
    assert (len(problems) == 1 and text in problems[0]) if text else tree["hosts"][-1]["coords"] == [1023, 63]


def test_limits__are_those_of_pm_ethernet():
    header = (TREE / "pm-ethernet" / "grid.h").read_text()
    found = dict(re.findall(r"#define (ETH_\w+) (\d+)", header))
    assert (int(found["ETH_DIMS"]), int(found["ETH_LINE_MAX"]), int(found["ETH_POINTS_MAX"])) == \
        (schema.DIMENSIONS_MAX, schema.POINTS_MAX, schema.GRID_HOSTS_MAX)
    assert f"#define ETH_RAILS {values.RAILS_MAX}\n" in (TREE / "pm-ethernet" / "frame.h").read_text()


def host_rows(pieces):
    return "".join(f'[[hosts]]\nrange = "h{index}"\naddress = "10.{index >> 8}.{index & 255}.1"\n'
                   for index in range(pieces))


BIG = ('[topology]\nkind = "hypercrossbar"\ndims = [64, 64, 16]\n[[hosts]]\nrange = "p[0-65535]"\n'
       + "".join(f'addresses.eth{n} = "10.{n}.[0-255].[0-255]"\n'
                 f'macs.eth{n} = "02:0{n}:00:00:[00-ff]:[00-ff]"\n' for n in (1, 2, 3))
       + '[networks.x]\ntype = "udp"\nrails = ['
       + ", ".join(f'{{device = "eth{n}", dim = "{dim}"}}' for n, dim in zip((1, 2, 3), "xyz"))
       + ']\n[groups]\neven = "p[0-65534/2]"\n[overrides."p[0-65535/7]".udp]\nmtu = 1500\n')


@pytest.mark.parametrize("text", [BIG, host_rows(65536)], ids=["range", "tables"])
def test_compile__65536_hosts_in_10_seconds_and_1_gib(tmp_path, text):
    path = tmp_path / "cluster.toml"
    path.write_text(text)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    run = subprocess.run([TREE / "configs" / "scconf", "compile", path], capture_output=True,
                         text=True, timeout=120, preexec_fn=lambda: resource.setrlimit(
                             resource.RLIMIT_AS, (1 << 30, 1 << 30)))
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (run.returncode, run.stderr) == (0, "")
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert busy < 10, f"{busy} s of CPU time, {wall} s in all"
    assert len(json.loads((tmp_path / "cluster.json").read_text())["hosts"]) == 65536


# ---- the library takes what scconf writes, and no less -----------------------------------------

CONF_MAIN = """
#include "pmcore/util/conf.h"
#include <stdio.h>
#include <string.h>
int main(void)
{
    static char line[4096], why[1024];
    while (fgets(line, sizeof(line), stdin)) {
        struct conf conf;
        conf_defaults(&conf);
        line[strcspn(line, "\\n")] = 0;
        puts(conf_parse(&conf, line, why, sizeof(why)) ? why : "ok");
    }
    return 0;
}
"""

LIMITS = {
    "udp.mtu": ("576", "65535"), "udp.port": ("0", "65535"), "udp.gso": ("0", "1"),
    "shmem.ring": ("16384", "16777216"), "shmem.mtu": ("1024", "65536"),
    "channel.window": ("8", "4096"), "channel.credit": ("1", "1024"),
    "channel.crc": ("0", "1"), "channel.send_buffers": ("64", "65536"),
    "channel.pull_bytes": ("65536", "1073741824"), "channel.peer_timeout": ("0", "4294967295"),
    "wait.spin": ("0", "1000000"), "shmem.large": ("auto", "ring", "cma"),
    "shmem.dir": ("/dev/shm", "/" + "a" * 120), "devices": ("self+shmem+ethernet+udp", "udp"),
    "ethernet.rails": ("eth1+enp3s0f0", "+".join(f"eth{n}" for n in range(8))),
    "ethernet.attach": ("auto", "direct", "port"),
    "ethernet.lane": ("auto", "never", "always"), "stream": ("auto", "never", "always"),
    "ethernet.socket": ("/run/pm-ethernet/socket", "/" + "a" * (values.SOCKET_MAX - 1)),
    "verbs.devices": ("mlx5_0:1+rxe1", "+".join(f"mlx5_{n}:1" for n in range(8))),
    "verbs.gid": ("0", "255"), "verbs.mtu": ("1024", "65536"), "verbs.credit": ("8", "256"),
    "verbs.lost_timeout": ("0", "86400000"), "verbs.connections": ("1", "65536"),
    "verbs.shared": ("0", "16", "32768"),
    "verbs.pinned": ("1048576", "1099511627776"),
    "verbs.path": ("auto", "datagram"), "verbs.connected_max": ("0", "1048576"),
    "udp.rails": ("eth1+10.1.0.0/24+eth0.5:1", "+".join(f"eth{n}" for n in range(8))),
}


@pytest.fixture(scope="module")
def conf_parse(tmp_path_factory):
    """Lines of options -> "ok" or the sentence of the library's own parser, for each."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        pytest.skip("no C compiler (install gcc)")
    folder = tmp_path_factory.mktemp("conf")
    (folder / "main.c").write_text(CONF_MAIN)
    subprocess.run([compiler, "-std=gnu11", "-D_GNU_SOURCE", f"-I{TREE}", "-o", folder / "main",
                    folder / "main.c", TREE / "pmcore/util/conf.c"], check=True, timeout=120)

    def run(lines):
        done = subprocess.run([folder / "main"], input="".join(f"{line}\n" for line in lines),
                              capture_output=True, text=True, check=True, timeout=60)
        return done.stdout.splitlines()
    return run


def test_env__the_library_takes_every_value_scconf_lets_through(conf_parse):
    assert set(LIMITS) == set(options.KEYS)
    lines = [f"{key}={value}" for key, values in LIMITS.items() for value in values]
    assert dict(zip(lines, conf_parse(lines))) == dict.fromkeys(lines, "ok")


@pytest.mark.parametrize("example", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_env__the_library_takes_the_examples(example, conf_parse):
    cluster, _ = resolve.resolve(document.load(example))
    lines = [options.line(cluster.options(host)).removeprefix("PM_OPTIONS=")
             for host in cluster.hosts]
    assert set(conf_parse(lines)) == {"ok"}


def test_schema__limits_are_those_of_the_library(load):
    """The smallest and largest values pass, those beyond are refused."""
    def pm(key, value):
        return load(f"{HOSTS}[pm]\n{key} = {value}\n")

    for key, (low, high) in {key: pair for key, pair in LIMITS.items() if len(pair) == 2}.items():
        if not low.isdecimal() or key in ("udp.gso", "channel.crc", "channel.credit"):
            continue
        quoted = {"channel.peer_timeout": '"{}ms"', "verbs.lost_timeout": '"{}ms"',
                  "wait.spin": '"{}us"'}.get(key, "{}")
        for number in (low, high):
            tree, problems = pm(key, quoted.format(number) if number != "0" else "0")
            assert problems == []
            assert tree["pm"][key] == number
        assert pm(key, quoted.format(int(high) * 2))[0] is None
        assert pm(key, quoted.format(int(low) - 1))[0] is None


def test_schema__takes_0_for_the_mtu_of_the_interfaces(load):
    tree, problems = load(f"{HOSTS}[overrides.n1.udp]\nmtu = 0\n")
    assert (problems, tree["hosts"][1]["pm"]) == ([], {"udp.mtu": "0"})


@pytest.mark.parametrize("key, value", [
    ("verbs.mtu", "4096"), ("verbs.path", '"datagram"'), ("verbs.connected_max", "8"), ("channel.crc", "true"),
    ("channel.credit", "8")])
def test_schema__no_host_has_its_own_of_what_a_job_agrees_on(load, key, value):
    assert load(f"{HOSTS}[pm]\n{key} = {value}\n")[1] == []
    _, problems = load(f"{HOSTS}[overrides.n1]\n{key} = {value}\n")
    assert len(problems) == 1 and f"overrides.n1.{key}: unknown key here" in problems[0]


def test_values__port_span_is_that_of_the_library():
    source = (TREE / "pm-udp" / "socket.c").read_text()
    assert f"#define PORT_SPAN {values.PORT_SPAN}\n" in source


def test_keys__are_those_of_the_library(conf_parse):
    known = conf_parse(["x=1"])[0].removeprefix('unknown option "x": write one of ').split(", ")
    # Options that inject faults or record traffic belong in the environment of one run only.
    assert known == [*options.KEYS, "fault", "trace"]


# ---- no input makes a traceback ----------------------------------------------------------------

TEXTS = st.one_of(st.text(max_size=12), st.sampled_from(
    ["n[0-3]", "n[0-", "n0", "~n1", "eth1", "10.1.0.0/24", "10.1.0.[1-4]", "udp", "shmem", "x",
     "02:00:00:00:00:[01-04]", "10.1.0.1-10.1.0.4", "[0-3]", "all", "1MiB", "10s", "1-2",
     "hypercrossbar", "fd00::/64", "fd00::[1-4]", "n[0-1048575]", "", ",", "~"]))
SCALARS = st.one_of(TEXTS, st.integers(-3, 70000), st.booleans(), st.floats(),
                    st.just(10 ** 40), st.sampled_from(["1979-05-27", "07:32:00"]))
VALUES = st.recursive(SCALARS, lambda inner: st.one_of(
    st.lists(inner, max_size=4), st.dictionaries(st.one_of(TEXTS, st.sampled_from(
        ["device", "subnet", "dim", "eth1", "mtu", "rails", "type", "range", "coords", "window"])),
        inner, max_size=4)), max_leaves=6)


def all_keys(kind, trail=()):
    """Paths of the schema, a NAME for each free key, 0 for places in arrays of tables."""
    if isinstance(kind, schema.Either):
        kind = kind.table
    if isinstance(kind, schema.Array):
        kind, trail = kind.item, trail + (0,)
    yield trail
    if isinstance(kind, schema.Table):
        for name, inner in kind.keys.items():
            yield from all_keys(inner, trail + (name,))
        if kind.free:
            yield from all_keys(kind.free[1], trail + ("n0",))
            yield from all_keys(kind.free[1], trail + ("eth1",))


PATHS = sorted({path for path in all_keys(schema.ROOT) if path}, key=str)


def toml_value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        if re.fullmatch(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d", value):
            return value
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_value(str(key))} = {toml_value(item)}"
                               for key, item in value.items()) + "}"
    return str(value)


def put(tree, path, value):
    """Sets a value in a tree, making tables and arrays on the way where nothing is."""
    for here, following in zip(path, path[1:]):
        empty = [] if following == 0 else {}
        if isinstance(tree, list):
            if not tree:
                tree.append(empty)
            tree = tree[0]
        else:
            tree = tree.setdefault(here, empty)
        if not isinstance(tree, list if following == 0 else dict):
            return
    if isinstance(tree, list):
        tree[:] = [value]
    else:
        tree[path[-1]] = value


def run_all(path):
    """Runs every command in this process; returns the exit codes and all output."""
    codes, out = [], io.StringIO()
    for args in (["check"], ["compile"], ["show"], ["show", "--json"], ["env"]):
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            codes.append(cli.main(args[:1] + [str(path)] + args[1:]))
    return codes, out.getvalue()


FUZZ = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@FUZZ
@given(st.lists(st.tuples(st.sampled_from(PATHS), VALUES), min_size=1, max_size=6), st.booleans())
def test_commands__any_values_give_a_verdict(tmp_path, changes, has_hosts):
    tree = {"hosts": [{"range": "n[0-3]"}]} if has_hosts else {}
    for path, value in changes:
        put(tree, path, value)
    text = "".join(f"{toml_value(key)} = {toml_value(value)}\n" for key, value in tree.items())
    file = tmp_path / "cluster.toml"
    file.write_text(text)
    (tmp_path / "cluster.json").unlink(missing_ok=True)
    codes, out = run_all(file)
    assert set(codes) in ({0}, {2}), out
    assert (tmp_path / "cluster.json").exists() == (codes[0] == 0)
    if codes[0] == 0:
        assert list(faults(json.loads((tmp_path / "cluster.json").read_text()), SCHEMA)) == []
    else:
        for line in out.splitlines():
            assert line.startswith(str(file)), line


@FUZZ
@given(st.one_of(st.binary(max_size=200),
                 st.text(alphabet='[]{}=."\'#,\n abhost01-~\\', max_size=80).map(str.encode)))
def test_commands__any_bytes_give_a_verdict(tmp_path, data):
    file = tmp_path / "cluster.toml"
    file.write_bytes(data)
    codes, out = run_all(file)
    assert set(codes) in ({0}, {2}), out


@FUZZ
@given(st.sampled_from(EXAMPLES), st.integers(0, 5000), st.integers(0, 40), st.text(max_size=3))
def test_commands__damaged_examples_give_a_verdict(tmp_path, example, at, length, text):
    content = example.read_text()
    at %= len(content)
    file = tmp_path / "cluster.toml"
    file.write_text(content[:at] + text + content[at + length:])
    codes, out = run_all(file)
    assert set(codes) in ({0}, {2}), out


@given(st.integers(0, 2**32 - 9), st.integers(0, 8))
def test_addresses__span_of_any_place(first, length):
    ends = [ipaddress.ip_address(first), ipaddress.ip_address(first + length)]
    found = addresses._ips(f"{ends[0]}-{ends[1]}")
    assert [int(ip) for ip in found] == list(range(first, first + length + 1))
