# SPDX-License-Identifier: BSD-3-Clause
"""Operations on a guest from outside while it runs, through QEMU's control socket."""
import json
import socket

from .trouble import Trouble

ANSWER_S = 30


class Monitor:
    """A connection to QEMU, from when it listens until close()."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(ANSWER_S)
        self.socket.connect(path)
        self.lines = self.socket.makefile("r", encoding="utf-8")
        self.events = []
        self.hear()                             # its greeting
        self.do("qmp_capabilities")

    def hear(self):
        try:
            line = self.lines.readline()
        except TimeoutError:
            line = ""
        if not line:
            raise Trouble("QEMU's monitor does not answer")
        return json.loads(line)

    def do(self, what, **arguments):
        self.socket.sendall(json.dumps({"execute": what, "arguments": arguments}).encode())
        while "event" in (answer := self.hear()):
            self.events.append(answer)
        if "error" in answer:
            raise Trouble(f"QEMU refuses {what}: {answer['error']['desc']}")
        return answer["return"]

    def await_event(self, name, **data):
        """Until QEMU has told of it, now or before."""
        def is_it(event):
            return event["event"] == name and data.items() <= event["data"].items()
        while not any(map(is_it, self.events)):
            self.events.append(self.hear())

    def close(self):
        self.lines.close()
        self.socket.close()
