# SPDX-License-Identifier: BSD-3-Clause
"""The plan of a lab: what `sclab up` would build, worked out without a kernel."""
import dataclasses
import ipaddress
import itertools
import json
import os
import sys
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lab"))

from labkit import daemon, ethernet, loss, output, plan, room, shaping, status  # noqa: E402
from labkit.errors import LabError  # noqa: E402


def flat(hosts, **more):
    return plan.make_plan(plan.Options("lab", (hosts,), **more))


def grid(*shape, **more):
    return plan.make_plan(plan.Options("lab", shape, grid=True, **more))


@pytest.mark.parametrize("text, bits", [
    ("1gbit", 10**9), ("200mbit", 200 * 10**6), ("2.5gbit", 2500 * 10**6), ("none", 0), ("0", 0),
    ("64kbit", 64000)])
def test_parse_rate__understood(text, bits):
    assert plan.parse_rate(text) == bits


@pytest.mark.parametrize("text", ["", "fast", "1g", "-1gbit", "1 gbit/s", "100", "1e9"])
def test_parse_rate__refused_with_an_example(text):
    with pytest.raises(LabError) as caught:
        plan.parse_rate(text)
    assert caught.value.status == 2
    assert text in str(caught.value) and "mbit" in str(caught.value)


@pytest.mark.parametrize("text, ppm", [
    ("1%", 10000), ("0.1%", 1000), ("1", 10000), ("500ppm", 500), ("0", 0), ("100%", 1000000)])
def test_parse_loss__understood(text, ppm):
    assert plan.parse_loss(text) == ppm


@pytest.mark.parametrize("text", ["101%", "-1%", "one", "2000000ppm", ""])
def test_parse_loss__refused(text):
    with pytest.raises(LabError):
        plan.parse_loss(text)


def test_parse_queue__units():
    assert [plan.parse_queue(t) for t in ("1500", "64k", "1M")] == [1500, 65536, 1 << 20]


@pytest.mark.parametrize("text", ["4x", "x4", "4*4", "", "4x-1"])
def test_parse_grid__refused(text):
    with pytest.raises(LabError):
        plan.parse_grid(text)


@pytest.mark.parametrize("name", ["", "Lab", "a-b", "../x", "a" * 25, "1lab"])
def test_parse_lab_name__refused(name):
    with pytest.raises(LabError):
        plan.parse_lab_name(name)


@pytest.mark.parametrize("options", [
    {"shape": (0,)}, {"shape": (1001,)}, {"shape": (2,) * 7, "grid": True}, {"nics": 33},
    {"nics": -1}, {"mtu": 500}, {"mtu": 70000}, {"shape": (3,), "direct": True},
    {"shape": (2, 3), "grid": True, "direct": True}, {"shape": (1, 2), "grid": True, "direct": True},
    {"direct": True, "rate": 10**9}, {"direct": True, "loss_ppm": 1}, {"direct": True, "spread": True},
    {"rate": 10**9, "queue": 1000}, {"ethernet": True, "nics": 0}, {"cores": "2"}, {"ethernet": True, "nics": 9},
    {"ethernet": True, "nics": 3, "shape": (2, 2, 2), "grid": True}])
def test_check_options__refuses_what_cannot_be_built(options):
    with pytest.raises(LabError) as caught:
        plan.make_plan(plan.Options("lab", **options))
    assert caught.value.status == 2


def test_make_plan__flat_network_has_a_switch_per_rail():
    lab = flat(4, nics=2)
    assert [s.name for s in lab.switches] == ["mgmt", "sw1", "sw2"]
    assert all(len(s.nics) == 4 for s in lab.switches)
    assert [n.name for n in lab.hosts[3].nics] == ["eth0", "eth1", "eth2"]
    assert lab.range == "h[0-3]"
    assert lab.namespaces() == ["lab-h0", "lab-h1", "lab-h2", "lab-h3", "lab-mgmt", "lab-sw1",
                                "lab-sw2"]


def test_make_plan__direct_has_no_data_switch():
    lab = flat(2, nics=2, direct=True)
    assert [s.name for s in lab.switches] == ["mgmt"]
    assert [n.switch for n in lab.hosts[0].nics] == ["mgmt", "", ""]


@given(st.integers(1, 6), st.integers(1, 2))
def test_make_plan__direct_grid_has_a_cable_per_line(dimensions, nics):
    switched, lab = (grid(*(2,) * dimensions, nics=nics, direct=is_direct) for is_direct in (False, True))
    assert [s.name for s in lab.switches] == ["mgmt"]
    assert [[(n.host, n.name) for n in cable] for cable in lab.cables] == \
        [[(n.host, n.name) for n in switch.nics] for switch in switched.switches[1:]]
    assert {n.switch for n in lab.data_nics()} == {""} and switched.cables == []


def test_make_plan__grid_of_the_slides():
    lab = grid(4, 4, 4)
    assert len(lab.hosts) == 64
    assert len(lab.switches) == 1 + 3 * 16
    # hosts count as scconf counts them: the last coordinate changes fastest
    assert lab.hosts[1].coordinates == (0, 0, 1)
    assert lab.hosts[63].coordinates == (3, 3, 3)
    assert [n.switch for n in lab.hosts[1].nics] == ["mgmt", "x1-0-1", "y1-0-1", "z1-0-0"]


def check_grid_lines(lab):
    """A data switch joins exactly the hosts that differ in its own coordinate alone."""
    by_name = {h.name: h for h in lab.hosts}
    for switch in lab.switches:
        if switch.is_management:
            continue
        dimension = switch.nics[0].dimension
        assert all(n.dimension == dimension for n in switch.nics)
        at = [by_name[n.host].coordinates for n in switch.nics]
        others = {c[:dimension] + c[dimension + 1:] for c in at}
        assert len(others) == 1
        assert sorted(c[dimension] for c in at) == list(range(lab.options.shape[dimension]))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(1, 3))
def test_make_plan__grid_lines(shape, nics):
    lab = grid(*shape, nics=nics)
    check_grid_lines(lab)
    assert all(len(h.nics) == 1 + nics * len(shape) for h in lab.hosts)


@given(st.integers(1, 1000), st.integers(0, 3))
def test_make_plan__addresses_are_unique_and_in_their_subnet(hosts, nics):
    lab = flat(hosts, nics=nics)
    every = [n for h in lab.hosts for n in h.nics]
    assert len({n.address for n in every}) == len({n.mac for n in every}) == len(every)
    for nic in every:
        subnet = ipaddress.ip_network(f"10.{nic.name[3:]}.0.0/{plan.PREFIX}")
        assert ipaddress.ip_address(nic.address) in subnet
        assert nic.address not in (str(subnet[0]), str(subnet[-1]))


def test_make_plan__names_fit_the_kernel():
    for lab in (flat(1000, nics=1), grid(3, 3, 3, 3, 3, 3)):
        for switch in lab.switches:
            # IFNAMSIZ is 16 with the final zero
            assert all(len(shaping.uplink(n)) <= 15 for n in switch.nics)


def test_nics__of_pm_ethernetd_are_the_data_nics():
    assert ethernet.nics(flat(2, nics=3, ethernet=True)) == "eth1,eth2,eth3"
    assert ethernet.nics(grid(2, 2, nics=2, ethernet=True)) == "eth1,eth2,eth3,eth4"


def test_program__of_the_build_in_use(tmp_path, monkeypatch):
    path = tmp_path / "bin" / "pm-ethernetd"
    path.parent.mkdir()
    path.touch(mode=0o755)
    monkeypatch.delenv("PM_BUILD", raising=False)
    monkeypatch.setenv("BUILD", str(tmp_path))
    assert ethernet.program() == str(path)


def test_program__neither_built_nor_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(daemon, "TREE", str(tmp_path))
    monkeypatch.setattr(daemon.shutil, "which", lambda *_, **__: None)
    for name in ("PM_BUILD", "BUILD"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(LabError, match="run make"):
        ethernet.program()


def test_max_rails__is_that_of_the_frame():
    with open(os.path.join(ROOT, "pm-ethernet", "frame.h"), encoding="utf-8") as f:
        assert f"#define ETH_RAILS {plan.MAX_RAILS}\n" in f.read()


def test_offloads__auto_is_off_with_loss():
    assert flat(2).offloads
    assert not flat(2, loss_ppm=1).offloads
    assert flat(2, loss_ppm=1, offloads="on").offloads


def test_burst_of__holds_a_frame_of_any_mtu():
    for mtu, rate in itertools.product((1500, 9000, 65535), (10**6, 10**9, 10**11)):
        assert shaping.burst_of(plan.Options("lab", mtu=mtu), rate) > mtu


def test_burst_of__as_asked_for():
    assert shaping.burst_of(plan.Options("lab", burst=65536), 200 * 10**6) == 65536
    assert shaping.burst_of(plan.Options("lab"), 200 * 10**6) == 16384
    assert shaping.burst_of(plan.Options("lab", mtu=9000, burst=1), 200 * 10**6) == 9064


def test_limiter__tbf():
    (line,) = shaping.limiter(plan.Options("lab", burst=50000), "h0", 10**8, 65536, True)
    assert line == "qdisc replace dev h0 root tbf rate 100000000bit burst 50000 limit 65536"


def test_limiter__htb_is_made_once_and_changed_in_place():
    options = plan.Options("lab", burst=50000, limiter="htb")
    first = shaping.limiter(options, "h0", 10**8, 65536, True)
    assert first[0] == "qdisc add dev h0 root handle 1: htb default 1"
    assert "rate 100000000bit burst 50000 cburst 50000" in first[1]
    assert first[2].endswith("bfifo limit 65536")
    assert shaping.limiter(options, "h0", 10**8, 65536, False) == first[1:]


@pytest.mark.parametrize("index, cores, mask", [
    (0, 2, "2"), (1, 2, "1"), (2, 2, "2"), (5, 4, "d"), (0, 32, "fffffffe"), (33, 40, "fd,ffffffff"),
])
def test_other_cores__all_but_the_hosts_own(index, cores, mask):
    assert shaping.other_cores(index, cores) == mask


def test_hosts_text__names_management_and_data():
    lines = output.hosts_text(flat(2, nics=1)).splitlines()
    assert lines == ["127.0.0.1\tlocalhost", "10.0.0.1\th0", "10.0.0.2\th1", "10.1.0.1\th0-eth1",
                     "10.1.0.2\th1-eth1"]


def expand(pattern):
    """One bracket with decimal or, in a MAC, hexadecimal bounds."""
    head, bounds = pattern.rstrip("]").split("[")
    low, high = bounds.split("-")
    base, width = (16, 2) if ":" in head else (10, 0)
    form = f"0{width}x" if base == 16 else "d"
    return [f"{head}{n:{form}}" for n in range(int(low, base), int(high, base) + 1)]


@pytest.mark.parametrize("hosts", [1, 2, 249, 250, 251, 256, 257, 513, 1000])
def test_config_text__patterns_expand_to_the_plan(hosts):
    tomllib = pytest.importorskip("tomllib")
    lab = flat(hosts, nics=2)
    config = tomllib.loads(output.config_text(lab))["hosts"][0]
    for nic in (1, 2):
        name = f"eth{nic}"
        for key, wanted in (("addresses", "address"), ("macs", "mac")):
            got = [text for pattern in config[key][name] for text in expand(pattern)]
            assert got == [getattr(h.nic(name), wanted) for h in lab.hosts]


def test_config_text__is_valid_for_scconf():
    pmtopo = os.path.join(ROOT, "configs", "scconf")
    if not os.path.exists(pmtopo):
        pytest.skip("no scconf in this tree")
    import subprocess
    for lab in (flat(1), flat(2, nics=0), flat(300, nics=2, mtu=9000), grid(2, 3, 4, nics=2),
                flat(2, nics=8, ethernet=True), flat(2, scheduler=True),
                grid(2, 3, 4, nics=2, ethernet=True, scheduler=True)):
        done = subprocess.run([pmtopo, "check", "/dev/stdin"], input=output.config_text(lab),
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("shape, nics", [((2, 2), 1), ((2, 3, 4), 2), ((8,), 8), ((2,) * 6, 1)])
def test_config_text__rails_of_a_grid_have_their_dimension(shape, nics):
    tomllib = pytest.importorskip("tomllib")
    lab = grid(*shape, nics=nics, ethernet=True)
    rails = tomllib.loads(output.config_text(lab))["networks"]["raw"]["rails"]
    assert [(rail["device"], rail["dim"]) for rail in rails] == \
        [(nic.name, "xyzuvw"[nic.dimension]) for nic in lab.hosts[0].nics[1:]]


def test_write_config__of_a_grid_is_compiled(tmp_path):
    lab = grid(2, 2, ethernet=True)
    there = types.SimpleNamespace(directory=str(tmp_path))
    output.write_config(lab, there)
    with open(output.compiled_path(there), encoding="utf-8") as f:
        compiled = json.load(f)
    assert compiled["topology"] == {"kind": "hypercrossbar", "dims": [2, 2]}
    assert [host["coords"] for host in compiled["hosts"]] == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert ethernet.arguments(lab, there) == ["--config", f"{tmp_path}/cluster.json"]


def test_write_config__of_a_flat_network_names_nics(tmp_path):
    there = types.SimpleNamespace(directory=str(tmp_path))
    output.write_config(flat(2, nics=2), there)
    assert not os.path.exists(output.compiled_path(there))
    assert ethernet.arguments(flat(2, nics=2), there) == ["--nics", "eth1,eth2"]


def test_write_config__with_a_scheduler_has_groups(tmp_path):
    there = types.SimpleNamespace(directory=str(tmp_path))
    output.write_config(flat(5, scheduler=True), there)
    with open(output.compiled_path(there), encoding="utf-8") as f:
        groups = {group["name"]: group["hosts"] for group in json.load(f)["groups"]}
    assert (groups["low"], groups["high"]) == ([0, 1], [2, 3, 4])


def test_scconf__missing_beside_the_lab(monkeypatch):
    monkeypatch.setattr(output, "__file__", "/nowhere/labkit/output.py")
    with pytest.raises(LabError, match="install both"):
        output.scconf()


def test_port_seed__differs_by_port_and_seed():
    nics = [n for h in flat(8, nics=4).hosts for n in h.nics]
    seeds = {loss.port_seed(seed, nic) for nic in nics for seed in range(3)}
    assert len(seeds) == 3 * len(nics)
    assert loss.port_seed(1, nics[0]) == loss.port_seed(1, dataclasses.replace(nics[0]))


@pytest.mark.parametrize("path, top", [
    ("/tmp/clone/tests", "/tmp/clone"), ("/tmp/a", "/tmp/a"), ("/tmp", None), ("/home/x", None),
    ("/dev/shm/x/y", "/dev/shm/x"), ("/tmpfs/x", None)])
def test_private_top__first_directory_below(path, top):
    assert room.private_top(path) == top


def test_rate_words__as_written_on_the_command_line():
    assert [status.rate_words(r) for r in (0, 200 * 10**6, 10**9, 2500 * 10**6)] == \
        ["-", "200mbit", "1gbit", "2.5gbit"]
