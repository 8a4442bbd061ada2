# SPDX-License-Identifier: BSD-3-Clause
"""daemon - asks pm-ethernetd for its reports. Knows the messages of attach.h, not what they tell."""

import json
import os
import socket
import struct

RUN = "/run/pm-ethernet"
STATUS, RAILS, PEERS, COUNTERS, ROUTE = 1, 2, 3, 4, 5  # enum eth_topic

_MAGIC, _VERSION, _OP_REPORT = 0x48544550, 3, 4
_REQUEST = struct.Struct("=IIIIQIIIHH128sII")  # struct eth_request
_PIECE = struct.Struct("=IIiII")  # struct eth_report without its text
_TEXT_MAX = 4096
_WHY = slice(12, 12 + 256)  # of struct eth_granted, the answer to what is no request it obeys
_ABOUT_MAX = 127  # bytes of what a topic is asked about
_TIMEOUT = 5  # seconds
_REPORT_MAX = 64 << 20


class Unreachable(Exception):
    """There is no daemon that answers; the text says what to do."""


class Refused(Exception):
    """The daemon answered with an error; the text is its own."""


def _connect(path):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.settimeout(_TIMEOUT)
    try:
        sock.connect(path)
    except OSError:
        sock.close()
        raise
    return sock


def _piece(message, path):
    """One message of the daemon: error, whether more follow, the text's bytes."""
    if len(message) == 0:
        raise Unreachable(f"{path}: pm-ethernetd closed the connection before it had answered; "
                          "its own messages say why: journalctl -u pm-ethernetd")
    if len(message) < _PIECE.size:
        raise Unreachable(f"{path}: what answers there is not pm-ethernetd; "
                          "name its directory with --run")
    magic, version, error, more, length = _PIECE.unpack_from(message)
    if magic == _MAGIC and version == _VERSION and error and length > _TEXT_MAX:
        return error, 0, message[_WHY].split(b"\0")[0]
    if magic != _MAGIC or length > min(_TEXT_MAX, len(message) - _PIECE.size):
        raise Unreachable(f"{path}: what answers there is not pm-ethernetd; "
                          "name its directory with --run")
    if version != _VERSION:
        raise Unreachable(f"{path}: pm-ethernetd speaks version {version} of the protocol, this "
                          f"program version {_VERSION}; restart the daemon after an upgrade")
    return error, more, message[_PIECE.size:_PIECE.size + length]


def _exchange(path, topic, about):
    with _connect(path) as sock:
        sock.send(_REQUEST.pack(_MAGIC, _VERSION, _OP_REPORT, 0, 0, 0, 0, 0, 0, 0, about, topic, 0))
        text = bytearray()
        while True:
            error, more, part = _piece(sock.recv(_PIECE.size + _TEXT_MAX), path)
            text += part
            if error:
                raise Refused(part.decode(errors="replace").rstrip("\0") or os.strerror(error))
            if not more:
                return bytes(text)
            if len(text) > _REPORT_MAX:
                raise Unreachable(f"{path}: the report does not end; restart pm-ethernetd")


def report(run, topic, about=""):
    """The report of one topic as the daemon tells it, about what that topic may be asked for."""
    text = about.encode(errors="surrogateescape")
    if len(text) > _ABOUT_MAX or b"\0" in text:
        raise Refused(f"{about[:40]}...: too long for a name")
    path = os.path.join(run, "socket")
    try:
        return json.loads(_exchange(path, topic, text))
    except (FileNotFoundError, ConnectionRefusedError):
        raise Unreachable(f"{path}: no pm-ethernetd listens there; start it (systemctl start "
                          "pm-ethernetd), or name its directory with --run") from None
    except TimeoutError:
        raise Unreachable(f"{path}: pm-ethernetd did not answer within {_TIMEOUT} s; if that "
                          "stays so, restart it: running jobs go on") from None
    except OSError as error:
        raise Unreachable(f"{path}: {error.strerror or error}") from None
    except ValueError:
        raise Unreachable(f"{path}: the report is not JSON; daemon and pm-ethernetctl are of "
                          "different versions") from None
