# SPDX-License-Identifier: BSD-3-Clause
"""inventory - what cluster.json says of hosts beyond where they are: which are to be used, their rails, what should run
there. Without the file nothing is known."""

from scorectl import words

from ..hosts import Cluster, Wrong


class Inventory(Cluster):
    """names: all that are not marked as defect. is_scheduled: a scored and scnodeds are expected. Raises Wrong."""

    def __init__(self, path=None):
        self.names, self.is_scheduled = [], False
        self._networks, self._hosts = {}, {}
        super().__init__(path)

    def _take(self, document):
        super()._take(document)
        self._networks = {network["name"]: network for network in document["networks"]}
        self._hosts = {host["name"]: host for host in document["hosts"]}
        self.names = [name for name, host in self._hosts.items() if host.get("state") != "defect"]
        self.is_scheduled = bool(document.get("scheduler"))

    def expand(self, text):
        """Names that an expression means; they are in the file, if there is one."""
        names = super().expand(text)
        unknown = [name for name in names if name not in self._hosts]
        if unknown and self._hosts:
            raise Wrong(f"{words.hosts(unknown)}: not in the cluster; its hosts are {words.hosts(self._hosts)}")
        return names

    def _rails(self, name):
        """(interface, network) of a host."""
        for rail in self._hosts.get(name, {}).get("rails", ()):
            if rail.get("device"):
                yield rail["device"], self._networks.get(rail.get("network"), {})

    def rails(self, name):
        """{interface: MTU that its networks want, 0 = any} of a host."""
        found = {}
        for device, network in self._rails(name):
            found[device] = max(network.get("mtu") or 0, found.get(device, 0))
        return found

    def needs_ethernetd(self, name):
        """Whether a rail of the host belongs to pm-ethernetd."""
        return any(network.get("type") == "ethernet" for _, network in self._rails(name))
