#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A process in a lab that does what standard input says: one JSON line [what, arguments] each, answered by
one JSON line. It can hold a context of pm-ethernetd with nothing but its descriptors (Raw), send any
frame from a NIC (Wire), be a node of PM (ethnode.py), and carry IP traffic. Judges nothing.
"""
import array
import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time
import traceback

from ethnode import Node

MAGIC, VERSION = 0x48544550, 3
GRANTS_MAX = 16     # as pm-ethernet/lease.c has it
MAPPED = 5
GRANTED = struct.Struct("=IIi256sIHHBBBBIIQIIIIIIIIIII")
RAIL = struct.Struct("=16s6sBBI")
AF_XDP, SOL_XDP = 44, 283
XDP_RX_RING, XDP_TX_RING, XDP_UMEM_REG, XDP_UMEM_FILL_RING = 2, 3, 4, 5
XDP_MMAP_OFFSETS = 1
PLACES = {"rx": 0, "tx": 0x80000000, "fill": 0x100000000, "done": 0x180000000}
SHARE_LOCK, SHARE_STEP = 64, 64     # struct eth_share: the locks of the rails
LIBC = ctypes.CDLL(None, use_errno=True)


def request(op=1, attach=0, key=1, local=1, packets=64, want=0):
    return struct.pack("=IIIIQIIIHH128sII", MAGIC, VERSION, op, attach, key, local, packets, packets,
                       want, 0, b"", 0, 0)


class Ring:
    """One end of a ring of an AF_XDP socket, mapped from its descriptor."""

    def __init__(self, fd, name, size, offsets, entry):
        self.producer, self.consumer, self.first, _ = offsets
        self.size, self.entry = size, struct.Struct(entry)
        self.map = mmap.mmap(fd, self.first + size * self.entry.size, offset=PLACES[name])

    def get(self, place):
        return struct.unpack_from("=I", self.map, place)[0]

    def set(self, place, value):
        struct.pack_into("=I", self.map, place, value & 0xffffffff)

    def put(self, *entry):
        at = self.get(self.producer)
        self.entry.pack_into(self.map, self.first + at % self.size * self.entry.size, *entry)
        self.set(self.producer, at + 1)

    def take(self):
        at = self.get(self.consumer)
        if at == self.get(self.producer):
            return None
        entry = self.entry.unpack_from(self.map, self.first + at % self.size * self.entry.size)
        self.set(self.consumer, at + 1)
        return entry


class Inbox:
    """The ring of frames of a context, mapped from its descriptor."""

    def __init__(self, fd, size):
        self.fd, self.size = fd, size
        self.page = mmap.PAGESIZE
        self.consumer = mmap.mmap(fd, self.page)
        self.ring = mmap.mmap(fd, self.page + 2 * size, prot=mmap.PROT_READ, offset=self.page)

    def take(self):
        at = struct.unpack_from("=Q", self.consumer)[0]
        if at == struct.unpack_from("=Q", self.ring)[0]:
            return None
        place = self.page + at % self.size
        length, frame = struct.unpack_from("=IxxxxI", self.ring, place)
        struct.pack_into("=Q", self.consumer, 0, at + 8 + (length + 7) // 8 * 8)
        return self.ring[place + 16:place + 16 + frame]


class Raw:
    """A context as the daemon hands it out; no library in between."""

    def __init__(self, ask, is_bound=True):
        self.lease = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.lease.settimeout(15)
        self.lease.connect("/run/pm-ethernet/socket")
        self.fds, self.sockets, self.owners = [], [], []
        self.granted = {}
        self.answer = self.ask(ask)
        if is_bound and self.answer["error"] == 0 and self.granted["n_fds"]:
            self.map()
            self.early = self.elsewhere()
            self.answer = self.ask({"op": MAPPED, "key": ask.get("key", 1), "want": self.granted["context"]})

    def ask(self, what):
        with contextlib.suppress(BrokenPipeError):      # refused before it asked
            self.lease.send(request(**what))
        try:
            message, control, _, _ = self.lease.recvmsg(8192, 1024)
        except ConnectionResetError:
            # a refusal that crossed our request: the kernel tells of the end first
            message, control, _, _ = self.lease.recvmsg(8192, 1024)
        for _, _, part in control:
            numbers = array.array("i")
            numbers.frombytes(part)
            self.fds += numbers
        fields = GRANTED.unpack_from(message)
        names = ("host", "context", "type", "attachment", "is_native", "is_frags", "n_rails", "slot",
                 "n_slots", "memory_bytes", "chunk", "chunks_per_packet", "tx_packets", "rx_chunks",
                 "fill", "done", "rx", "tx", "inbox_bytes", "n_fds", "is_bound")
        self.granted = dict(zip(names, fields[4:]))
        macs = [RAIL.unpack_from(message, GRANTED.size + RAIL.size * r)[1].hex()
                for r in range(self.granted["n_rails"])]
        return {"error": fields[2], "why": fields[3].split(b"\0")[0].decode(), "macs": macs,
                **self.granted}

    def close(self):
        """All that keeps a part of it; sockets in Python have the same descriptors."""
        self.lease.close()
        for one in self.sockets + self.owners:
            one.detach()
        self.memory = self.rx = self.tx = self.fill = self.done = self.inbox = None
        for fd in self.fds:
            os.close(fd)
        self.fds = []

    def map(self):
        g = self.granted
        os.posix_fallocate(self.fds[0], 0, g["memory_bytes"])
        self.memory = mmap.mmap(self.fds[0], g["memory_bytes"])
        is_port = g["attachment"] == 2
        n_sockets, first = (1, 2) if is_port else (g["n_rails"], 3)
        self.board = self.fds[first - 1]
        self.inbox = Inbox(self.fds[first], g["inbox_bytes"]) if g["inbox_bytes"] else None
        first += self.inbox is not None
        xsk = [socket.socket(AF_XDP, socket.SOCK_RAW, 0, fd) for fd in self.fds[first:]]
        self.sockets, self.owners = xsk[:n_sockets], xsk[-n_sockets:]
        self.unbound = [one.fileno() for one in xsk]
        at = struct.unpack("=16Q", self.sockets[0].getsockopt(SOL_XDP, XDP_MMAP_OFFSETS, 128))
        fd = self.sockets[0].fileno()
        self.rx = Ring(fd, "rx", g["rx"], at[0:4], "=QII")
        self.tx = Ring(fd, "tx", g["tx"], at[4:8], "=QII")
        fd = self.owners[0].fileno()
        self.fill = Ring(fd, "fill", g["fill"], at[8:12], "=Q")
        self.done = Ring(fd, "done", g["done"], at[12:16], "=Q")

    def elsewhere(self):
        """Binds what is not bound yet to interfaces it is not meant for; error names of the tries."""
        results = set()
        for fd in self.unbound:
            # of the NICs and ports one is its own
            for index, name in socket.if_nameindex():
                if name.startswith(("eth", "pepu")):
                    continue
                address = struct.pack("=HHIII", AF_XDP, 0, index, 0, 0)
                failed = LIBC.bind(fd, address, len(address))
                results.add(errno.errorcode[ctypes.get_errno()] if failed else "done")
        return sorted(results)

    def kick(self):
        try:
            self.sockets[0].send(b"", socket.MSG_DONTWAIT)
        except OSError as e:
            # EBUSY: the interface itself threw the frame away
            if e.errno not in (errno.EAGAIN, errno.EBUSY):
                raise

    def send(self, frames):
        """One after the other, each taken by the kernel before the next is written."""
        for frame in frames:
            self.memory[0:len(frame)] = frame
            self.tx.put(0, len(frame), 0)
            end = time.monotonic() + 2
            while self.done.take() is None:
                if time.monotonic() > end:
                    raise TimeoutError(f"a frame of {len(frame)} bytes is not completed")
                self.kick()

    def receive(self):
        frames = []
        while self.inbox:
            frame = self.inbox.take()
            if frame is None:
                return frames
            frames.append(frame)
        while True:
            entry = self.rx.take()
            if entry is None:
                return frames
            address, length, _ = entry
            frames.append(self.memory[address:address + length])
            self.fill.put(address - address % self.granted["chunk"])

    def abuse(self):
        """Tries to misuse the descriptors and to act without privilege: error name of each try, or "done"."""
        fd, results = self.sockets[0].fileno(), {}
        name = socket.if_nameindex()[-1][1]

        def attempt(what, function):
            try:
                function()
                results[what] = "done"
            except OSError as e:
                # of the kernel's own numbers one comes out: 524, "not supported"
                results[what] = errno.errorcode.get(e.errno, str(e.errno))

        def bind(to, flags):
            address = struct.pack("=HHIII", AF_XDP, flags, socket.if_nametoindex(to), 0, 0)
            if LIBC.bind(fd, address, len(address)):
                raise OSError(ctypes.get_errno(), "bind")

        def option(which, value, level=SOL_XDP):
            self.sockets[0].setsockopt(level, which, value)

        attempt("bind again", lambda: bind("eth1", 0))
        attempt("bind to another", lambda: bind(name, 1))
        memory = struct.pack("=QQIIII", 0, 1 << 20, 2048, 0, 0, 0)
        attempt("memory again", lambda: option(XDP_UMEM_REG, memory))
        for ring in (XDP_RX_RING, XDP_TX_RING, XDP_UMEM_FILL_RING):
            attempt(f"ring {ring} again", lambda ring=ring: option(ring, struct.pack("=i", 64)))
        attempt("new AF_XDP socket", lambda: socket.socket(AF_XDP, socket.SOCK_RAW, 0))
        attempt("new AF_PACKET socket", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3))
        attempt("mark", lambda: option(36, 1, socket.SOL_SOCKET))
        attempt("shrink the memory", lambda: os.ftruncate(self.fds[0], 4096))
        attempt("grow the memory", lambda: os.ftruncate(self.fds[0], 1 << 30))
        if self.inbox:
            self.abuse_inbox(attempt)
        attempt("write to the board", lambda: mmap.mmap(self.board, 4096))
        attempt("open the board anew", lambda: os.open(
            f"/proc/self/fd/{self.board}", os.O_RDWR))
        attempt("the daemon's files", lambda: os.listdir("/run/pm-ethernet/bpf"))
        attempt("its state", lambda: open("/run/pm-ethernet/state", encoding="ascii").close())
        attempt("interface down", lambda: fcntl.ioctl(
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8914,
            struct.pack("=16sH14x", b"eth1", 0)))
        return results

    def abuse_inbox(self, attempt):
        """The same of the ring: it is a map, of which a process may be told nothing but by mapping it."""
        fd, page = self.inbox.fd, mmap.PAGESIZE

        def bpf(command, attributes):
            attributes = ctypes.create_string_buffer(attributes, 120)
            if LIBC.syscall(321, command, attributes, 120) < 0:
                raise OSError(ctypes.get_errno(), "bpf")

        attempt("write to the inbox", lambda: mmap.mmap(fd, 2 * page, offset=page))
        attempt("write to its producer", lambda: mmap.mmap(fd, page, offset=page))
        attempt("write beyond its consumer", lambda: mmap.mmap(fd, 2 * page))
        # BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM
        for name, command in (("look up", 1), ("update", 2), ("delete", 3)):
            attempt(f"{name} in the inbox", lambda command=command: bpf(command, struct.pack("=I", fd)))
        attempt("another inbox by its number", lambda: bpf(14, struct.pack("=II", 1, 0)))  # BPF_MAP_GET_FD_BY_ID


class Wire:
    """A NIC as root has it."""

    def __init__(self, nic):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)     # SO_RCVBUFFORCE
        self.socket.bind((nic, 3))
        self.socket.setblocking(False)

    def take(self):
        frames = []
        while True:
            try:
                data, where = self.socket.recvfrom(65536)
            except BlockingIOError:
                return frames
            if where[2] != socket.PACKET_OUTGOING:
                frames.append(data)


class Commands:
    raw = wire = node = None

    # ---- a context with nothing but descriptors ----

    def attach(self, **ask):
        self.raw = Raw(ask)
        return self.raw.answer

    def ask(self, **ask):
        """On the connection there is, or a new one."""
        if self.raw:
            return self.raw.ask(ask)
        other = Raw(ask)
        other.close()
        return other.answer

    def crowd(self, count, **ask):
        """Connections kept open, each asking; errors by number of times, one sentence of each."""
        self.others, errors, whys = [], {}, {}
        for _ in range(count):
            one = Raw(ask)
            self.others.append(one)
            errors[one.answer["error"]] = errors.get(one.answer["error"], 0) + 1
            whys[one.answer["error"]] = one.answer["why"]
        return {"errors": errors, "whys": whys}

    def leave(self):
        for one in self.others:
            one.close()
        self.others = []
        return {}

    def hoard(self, count, way, **ask):
        """Gets contexts one after the other and ends their leases, but keeps all that came with them. The error that
        came last of each, by number of times. A grant that is never bound is filled, too."""
        self.others, errors, last = [], {}, {}
        for _ in range(count):
            for _ in range(GRANTS_MAX):
                one = Raw(ask, is_bound=way != "granted")
                last = one.answer
                if last["error"] != errno.ESTALE:
                    break
                one.close()     # as libpm does: the kernel has not freed yet what was granted
            if way == "granted" and one.fds:
                os.posix_fallocate(one.fds[0], 0, one.granted["memory_bytes"])
            if way == "suspended" and not last["error"]:
                one.ask({"op": 2, "key": ask["key"], "want": one.granted["context"]})
            one.lease.close()
            self.others.append(one)
            errors[last["error"]] = errors.get(last["error"], 0) + 1
        return {"errors": errors, "why": last["why"]}

    def unfilled(self, **ask):
        """Says that it has mapped what it has not filled; the answer."""
        one = Raw(ask, is_bound=False)
        answer = one.ask({"op": MAPPED, "key": ask["key"], "want": one.granted["context"]})
        one.close()
        return answer

    def send(self, frames):
        self.raw.send([bytes.fromhex(frame) for frame in frames])
        return {}

    def receive(self):
        return {"frames": [frame.hex() for frame in self.raw.receive()]}

    def abuse(self):
        return {"results": self.raw.abuse(), "early": self.raw.early}

    def die_locked(self, pid, rail):
        """Takes the lock of a rail that process @pid shares with others of its job, and dies with it."""
        with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
            place = next(line.split()[0] for line in f if "pm-ethernet-share" in line)
        fd = os.open(f"/proc/{pid}/map_files/{place}", os.O_RDWR)
        share = mmap.mmap(fd, os.fstat(fd).st_size)
        lock = ctypes.addressof(ctypes.c_char.from_buffer(share, SHARE_LOCK + SHARE_STEP * rail))
        if LIBC.pthread_mutex_lock(ctypes.c_void_p(lock)):
            raise RuntimeError("the lock can't be taken")
        os.kill(os.getpid(), signal.SIGKILL)

    # ---- frames of root ----

    def wire_open(self, nic):
        self.wire = Wire(nic)
        return {}

    def wire_send(self, frames, times=1):
        for _ in range(times):
            for frame in frames:
                self.wire.socket.send(bytes.fromhex(frame))
        return {}

    def nic_frames(self, nic):
        """Frames that the NIC has taken from the wire."""
        with open("/proc/thread-self/net/dev", encoding="ascii") as f:
            counts = dict(line.split(":", 1) for line in f.read().splitlines()[2:])
        return {"count": next(int(c.split()[1]) for n, c in counts.items() if n.strip() == nic)}

    def wire_take(self, ethertype=None):
        """The frames received since the last call, of that type if it is given."""
        select.select([self.wire.socket], [], [], 0.05)
        return {"frames": [f.hex() for f in self.wire.take()
                           if ethertype is None or f[12:14].hex() == ethertype]}

    # ---- a node of PM ----

    def pm_open(self, **options):
        self.node = Node(**options)
        return {"address": self.node.address().hex(), "note": self.node.note()}

    def pm_add(self, node, address):
        self.node.add(node, bytes.fromhex(address))
        return {}

    def pm_send(self, **how):
        return self.node.send(**how)

    def pm_take(self, **how):
        return self.node.take(**how)

    def pm_serve(self):
        """Until the next line comes, which may do so once we have said that we look for it."""
        print(json.dumps({"serving": True}), flush=True)
        self.node.serve(lambda: select.select([sys.stdin], [], [], 0)[0])
        return {}

    def nothing(self):
        return {}

    def pm_close(self):
        self.node.close()
        return {}

    # ---- IP beside it ----

    def tcp_serve(self, port):
        """Takes one connection and all that comes on it, gives its length back."""
        with socket.create_server(("", port)) as server:
            print(json.dumps({"listening": port}), flush=True)
            server.settimeout(20)
            peer, _ = server.accept()
        total = 0
        with peer:
            while data := peer.recv(1 << 16):
                total += len(data)
            peer.sendall(struct.pack("!Q", total))
        return {"bytes": total}

    def ping(self, host, count):
        """Echo requests, each waited for."""
        answered = 0
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as s:
            s.settimeout(1)
            s.connect((host, 0))
            for number in range(count):
                s.send(struct.pack("!BBHHH", 8, 0, 0, 0, number) + b"are you there?")
                with contextlib.suppress(TimeoutError):
                    answered += struct.unpack_from("!BBHHH", s.recv(100))[4] == number
        return {"answered": answered}

    def tcp_send(self, host, port, count):
        with socket.create_connection((host, port), timeout=20) as s:
            s.sendall(bytes(range(256)) * (count // 256))
            s.shutdown(socket.SHUT_WR)
            return {"echoed": struct.unpack("!Q", s.recv(8, socket.MSG_WAITALL))[0]}


def main():
    commands = Commands()
    print(json.dumps({"pid": os.getpid()}), flush=True)
    for line in sys.stdin:
        what, arguments = json.loads(line)
        try:
            answer = getattr(commands, what)(**arguments)
        except Exception as e:              # whatever it was, the test is to hear of it
            place = traceback.extract_tb(e.__traceback__)[-1]
            answer = {"trouble": f"{what}: {type(e).__name__}: {e} (line {place.lineno})"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
