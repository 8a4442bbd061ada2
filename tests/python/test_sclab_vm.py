# SPDX-License-Identifier: BSD-3-Clause
"""sclab --vm, as far as it needs no virtual machine: its command line, its files, and QEMU's words for networks."""
import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", part) for part in ("lab", "vm")]

from labkit import cli, vmcli, vmstate  # noqa: E402
from labkit.errors import LabError  # noqa: E402
from vmlab import network  # noqa: E402


@pytest.fixture(autouse=True)
def own_base(tmp_path, monkeypatch):
    monkeypatch.setattr(vmstate, "base", lambda: str(tmp_path / "labs"))
    monkeypatch.delenv("SCLAB_NAME", raising=False)


@pytest.mark.parametrize("argv, wanted", [
    (["--vm", "up"], (True, ["up"])), (["up", "--vm"], (False, ["up", "--vm"])),
    (["--name", "--vm", "up"], (False, ["--name", "--vm", "up"])),
    (["--name", "a", "--vm", "up"], (True, ["--name", "a", "up"])),
    (["--name=a", "--vm", "up"], (True, ["--name=a", "up"])), (["--name"], (False, ["--name"])), ([], (False, []))])
def test_take_vm__before_the_command(argv, wanted):
    assert cli.take_vm(argv) == wanted


@pytest.mark.parametrize("argv, status", [
    (["up", "--hosts", "17"], 2), (["up", "--hosts", "0"], 2), (["up", "--memory", "1"], 2),
    (["up", "--grid", "2x2"], 2), (["rate"], 2),
    (["down"], 3), (["status"], 3), (["exec", "h0"], 125), (["exec", "h0", "true"], 125),
    (["link", "h0:eth1", "sideways"], 2)])
def test_main__one_line_and_a_status(argv, status, capsys):
    assert cli.main(["--vm", *argv]) == status
    text = capsys.readouterr().err
    assert text.startswith("sclab: ") and text.count("\n") == 1


def test_main__help_has_every_command(capsys):
    assert cli.main(["--vm", "help"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {command} " in text for command in vmcli.COMMANDS)


def test_claim__by_one_at_a_time():
    held = vmstate.claim("one")
    with pytest.raises(LabError):
        vmstate.claim("one")
    os.close(held)
    with open(f"{vmstate.directory('one')}/left", "w", encoding="utf-8"):
        pass
    os.close(vmstate.claim("one"))
    assert not os.listdir(vmstate.directory("one"))
    assert vmstate.names() == ["one"]
    vmstate.remove("one")
    assert not vmstate.names() and not os.path.exists(vmstate.base())


def test_environment__temporary_directory_is_not_the_guests(monkeypatch):
    monkeypatch.setenv("TMPDIR", "/tmp/x")
    monkeypatch.setenv("KEPT", "a b")
    command = vmcli.command_for("lab", "h1", ["echo", "it's"])
    assert "TMPDIR" not in command and "'KEPT=a b'" in command and "SCLAB_HOST=h1" in command
    assert command.endswith("""echo 'it'"'"'s'""")


def test_wire__names_by_the_first_link():
    nets, lines = network.wire([network.Link("b", "a"), network.Link("a", "c", mtu=9000)], ["a", "b", "c"])
    assert lines == ["10.7.1.1 a-1 a", "10.7.1.2 b-1 b", "10.7.2.1 a-2", "10.7.2.3 c-2 c"]
    assert [(nic.guest, nic.name, nic.address) for nic in nets[1].nics] == \
        [("a", "eth2", "10.7.2.1/24"), ("c", "eth1", "10.7.2.3/24")]
    assert len({nic.mac for net in nets for nic in net.nics}) == 4


def net_of(*guests, **more):
    return network.Net(tuple(network.Nic(guest, "eth1", f"52:54:00:00:00:0{n}", "") for n, guest in enumerate(guests)),
                       **more)


def test_nic_words__a_cable():
    nets = [net_of("a", "b", mtu=9000, options="iommu_platform=on")]
    one, other = (network.nic_words(nets, "/d", guest) for guest in "ab")
    assert "server=on,addr.type=unix,addr.path=/d/net1" in one[1]
    assert one[3].endswith(",host_mtu=9000,iommu_platform=on")
    assert "server=off,addr.type=unix,addr.path=/d/net1" in other[1]
    assert network.listeners(nets, "/d", "a") == ["/d/net1"] and not network.listeners(nets, "/d", "b")
    assert network.hub_words(nets, "/d") == []


@pytest.mark.parametrize("guests", ["a", "abc"])
def test_hub_words__where_there_is_no_cable(guests):
    nets = [net_of("a", "b"), net_of(*guests)]
    words = network.hub_words(nets, "/d")
    assert sum("hubid=2" in word for word in words) == len(guests) + 1
    for number, guest in enumerate(guests):
        at = f"/d/net2.{number}"
        assert f"server=off,addr.type=unix,addr.path={at}" in " ".join(words)
        assert f"server=on,addr.type=unix,addr.path={at}" in " ".join(network.nic_words(nets, "/d", guest))
        assert at in network.listeners(nets, "/d", guest)
