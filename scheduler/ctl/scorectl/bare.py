# SPDX-License-Identifier: BSD-3-Clause
"""bare - signals and sockets as Python has them in C. The modules signal and socket make enumerations of all their
constants while they load, which takes longer than all else that a short command loads; nothing here needs those."""

try:
    import _signal as signal
    import _socket as socket
except ImportError:  # another Python
    import signal
    import socket

__all__ = ["addresses", "connected", "signal", "socket"]


def addresses(host, port):
    """As socket.getaddrinfo gives those of connections. A name that is no ASCII takes tables of letters to load."""
    return socket.getaddrinfo(host.encode() if host.isascii() else host, port, 0, socket.SOCK_STREAM)


def connected(address, timeout):
    """A connection to (host, port), at the first of its addresses that answers; OSError of the last one. Its calls wait
    for timeout seconds at most. Small messages leave at once: otherwise the second of two waits for the acknowledgement
    of the first, which the other side holds back for 40 ms."""
    problem = OSError(f"{address[0]}: it has no address")
    for family, kind, protocol, _, place in addresses(*address):
        link = socket.socket(family, kind, protocol)
        link.settimeout(timeout)
        try:
            link.connect(place)
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return link
        except OSError as why:
            link.close()
            problem = why
    raise problem
