# SPDX-License-Identifier: BSD-3-Clause
"""nic - settings of one network interface, read and set through the kernel's ethtool ioctl. A setting
the driver does not have reads as None. Knows nothing of pm-ethernet."""

import array
import errno
import fcntl
import socket
import struct

_SIOCETHTOOL = 0x8946
_GET_COALESCE, _SET_COALESCE = 0x0e, 0x0f
_GET_RING, _SET_RING = 0x10, 0x11
_FLAG_LRO = 1 << 15
_GET_FLAGS, _SET_FLAGS = 0x25, 0x26
_SWITCHES = {"gro": (0x2b, 0x2c), "tso": (0x1e, 0x1f), "gso": (0x23, 0x24)}  # get, set

# Places of what we use among the words of struct ethtool_coalesce and struct ethtool_ringparam.
_COALESCE_WORDS, _RX_USECS, _RX_FRAMES, _ADAPTIVE_RX = 23, 1, 2, 10
_RING_WORDS, _RX_MAX, _TX_MAX, _RX_RING, _TX_RING = 9, 1, 4, 5, 8

_NOT_SUPPORTED = (errno.EOPNOTSUPP, errno.EINVAL)


class NicError(Exception):
    """A setting could not be read or set; the text names the interface and the remedy."""


def _ethtool(name, words):
    """One ethtool call; words[0] is the command. The words the kernel left."""
    data = array.array("I", words)
    request = struct.pack("16sP8x", name.encode(), data.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, _SIOCETHTOOL, request)
    return list(data)


def _read(name, command, count):
    try:
        return _ethtool(name, [command] + [0] * (count - 1))
    except OSError as error:
        if error.errno in _NOT_SUPPORTED:
            return None
        if error.errno == errno.ENODEV:
            raise NicError(f"{name}: there is no such interface here; \"pm-ethernetctl rails\" "
                           "lists those of the daemon") from None
        raise NicError(f"{name}: its settings can't be read: {error.strerror}") from None


def _write(name, words, what):
    try:
        _ethtool(name, words)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES):
            raise NicError(f"{name}: {what} can only be set by root; run this with sudo") from None
        if error.errno in _NOT_SUPPORTED:
            raise NicError(f"{name}: {what} is not supported by its driver, or not with this "
                           "value") from None
        raise NicError(f"{name}: {what} can't be set: {error.strerror}") from None


def coalescing(name):
    """Interrupt coalescing of the receive side, or None."""
    words = _read(name, _GET_COALESCE, _COALESCE_WORDS)
    if words is None:
        return None
    return {"rx_usecs": words[_RX_USECS], "rx_frames": words[_RX_FRAMES],
            "is_adaptive": bool(words[_ADAPTIVE_RX])}


def set_coalescing(name, rx_usecs, is_adaptive):
    """Sets the wait before a receive interrupt; the rest of the settings stays."""
    words = _read(name, _GET_COALESCE, _COALESCE_WORDS)
    if words is None:
        raise NicError(f"{name}: interrupt coalescing is not supported by its driver")
    words[0], words[_RX_USECS], words[_ADAPTIVE_RX] = _SET_COALESCE, rx_usecs, int(is_adaptive)
    _write(name, words, "rx-usecs")


def rings(name):
    """Entries of the receive and transmit rings and their limits, or None."""
    words = _read(name, _GET_RING, _RING_WORDS)
    if words is None or words[_RX_MAX] == 0:
        return None
    return {"rx": words[_RX_RING], "rx_max": words[_RX_MAX],
            "tx": words[_TX_RING], "tx_max": words[_TX_MAX]}


def set_rings(name, rx, tx):
    """Sets the entries of both rings."""
    words = _read(name, _GET_RING, _RING_WORDS)
    if words is None:
        raise NicError(f"{name}: ring sizes are not supported by its driver")
    words[0], words[_RX_RING], words[_TX_RING] = _SET_RING, rx, tx
    _write(name, words, "the ring size")


def offload(name, which):
    """Whether gro, lro, tso or gso is on, or None."""
    if which == "lro":
        words = _read(name, _GET_FLAGS, 2)
        return None if words is None else bool(words[1] & _FLAG_LRO)
    words = _read(name, _SWITCHES[which][0], 2)
    return None if words is None else bool(words[1])


def set_offload(name, which, is_on):
    """Turns gro, lro, tso or gso on or off."""
    if which == "lro":
        words = _read(name, _GET_FLAGS, 2) or [0, 0]
        flags = words[1] | _FLAG_LRO if is_on else words[1] & ~_FLAG_LRO
        _write(name, [_SET_FLAGS, flags], which)
    else:
        _write(name, [_SWITCHES[which][1], int(is_on)], which)
