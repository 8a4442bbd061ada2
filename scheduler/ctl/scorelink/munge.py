# SPDX-License-Identifier: BSD-3-Clause
"""munge - credentials by libmunge: who we are, and who made what we were given."""

import functools
import os
from ctypes import CDLL, byref, c_char_p, c_int, c_uint, c_void_p, string_at

CTX_SOCKET = 8          # munge_opt_t of munge.h
CTX_UID_RESTRICTION = 9
ANYBODY = 0xffffffff


class Refused(Exception):
    """No credential, or one that is not good; the text names the remedy."""


def loaded(name, package):
    """A library that authentication needs; Refused."""
    try:
        return CDLL(name)
    except OSError as problem:
        raise Refused(f"{name} cannot be loaded ({problem}); install {package}") from None


@functools.cache
def _library():
    """libmunge, and what gives back what it returns."""
    lib = loaded("libmunge.so.2", "libmunge2")
    lib.munge_ctx_create.restype = c_void_p
    lib.munge_strerror.restype = c_char_p
    lib.munge_ctx_strerror.restype = c_char_p
    return lib, CDLL("libc.so.6").free


class Munge:
    """The munged behind a socket; None: $SCORE_MUNGE_SOCKET, else munge's own."""

    def __init__(self, socket=None):
        self.lib, self._free = _library()
        self.socket = socket or os.environ.get("SCORE_MUNGE_SOCKET")

    def _context(self):
        context = c_void_p(self.lib.munge_ctx_create())
        if not context:
            raise Refused("no memory")
        if self.socket:
            self.lib.munge_ctx_set(context, c_int(CTX_SOCKET), c_char_p(self.socket.encode()))
        return context

    def _check(self, code, context):
        if code:
            why = (self.lib.munge_ctx_strerror(context) or self.lib.munge_strerror(code)).decode()
            raise Refused(f"munge: {why}; is munged running, with the key of the cluster"
                          f"{f' at {self.socket}' if self.socket else ''}, and do the clocks agree?")

    def make(self, payload, reader=ANYBODY):
        """A credential over a text that one user may read."""
        context, made = self._context(), c_char_p()
        try:
            if reader != ANYBODY:
                self.lib.munge_ctx_set(context, c_int(CTX_UID_RESTRICTION), c_uint(reader))
            data = payload.encode()
            self._check(self.lib.munge_encode(byref(made), context, data, c_int(len(data))), context)
            return made.value.decode()
        finally:
            self._free(made)
            self.lib.munge_ctx_destroy(context)

    def read(self, credential):
        """(text, user) of a credential. Bytes that are no text become what no message has: halves of characters."""
        context, data = self._context(), c_void_p()
        size, uid, gid = c_int(), c_uint(), c_uint()
        try:
            self._check(self.lib.munge_decode(credential.encode(), context, byref(data), byref(size),
                                              byref(uid), byref(gid)), context)
            text = string_at(data.value, size.value) if size.value else b""
            return text.decode(errors="surrogateescape"), uid.value
        finally:
            self._free(data)
            self.lib.munge_ctx_destroy(context)
