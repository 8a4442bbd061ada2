# SPDX-License-Identifier: BSD-3-Clause
"""collect - what hosts print, kept until it is shown: a little in memory, much of it in one file
without a name. Alike outputs are known by their bytes, or by the digest of many."""

import os

_IN_MEMORY = 64 << 10   # of one output
_PIECE = 1 << 20


class Store:
    """A file for all that does not stay in memory; made when it is needed."""

    def __init__(self):
        self._file = None
        self._end = 0

    def put(self, data):
        """Where the bytes lie from now on. Raises OSError, which names the remedy."""
        try:
            return self._put(data)
        except OSError as problem:
            import tempfile
            raise OSError(problem.errno, f"what hosts print does not fit into {tempfile.gettempdir()}: "
                          f"{problem.strerror}; name another directory with TMPDIR, or take -label, which keeps nothing"
                          ) from None

    def _put(self, data):
        if self._file is None:
            import tempfile
            self._file = tempfile.TemporaryFile()
        at = self._end
        view = memoryview(data)
        while view:
            view = view[os.pwrite(self._file.fileno(), view, self._end):]
            self._end = at + len(data) - len(view)
        return at, len(data)

    def get(self, at, size):
        """Bytes of put(), in pieces."""
        while size:
            data = os.pread(self._file.fileno(), min(size, _PIECE), at)
            at, size = at + len(data), size - len(data)
            yield data


class Output:
    """One stream of one host. limit: bytes that are kept, None: all."""

    __slots__ = ("_store", "_limit", "_head", "_places", "_digest", "size", "last")

    def __init__(self, store, limit=None):
        self._store, self._head, self._places, self._digest = store, bytearray(), [], None
        self._limit = limit
        self.size = 0       # of what is kept
        self.last = b""     # its last byte

    def add(self, data):
        """More of it."""
        if self._limit is not None:
            data = data[:self._limit - self.size]
        if not data:
            return
        self.size += len(data)
        self.last = data[-1:]
        if self._digest:
            self._digest.update(data)
        self._head += data
        if len(self._head) > _IN_MEMORY:
            if not self._digest:
                import hashlib
                self._digest = hashlib.sha256(self._head)
            self._places.append(self._store.put(self._head))
            self._head = bytearray()

    def key(self):
        """Equal for equal outputs, and for no others."""
        return (self.size, self._digest.digest()) if self._digest else bytes(self._head)

    def pieces(self):
        """All of it, in order."""
        for place in self._places:
            yield from self._store.get(*place)
        if self._head:
            yield bytes(self._head)

    def bytes(self):
        """All of it at once."""
        return b"".join(self.pieces())
