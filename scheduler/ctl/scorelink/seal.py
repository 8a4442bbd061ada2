# SPDX-License-Identifier: BSD-3-Clause
"""seal - the bytes of one connection in records that nobody on the way can read, alter, repeat or leave out unnoticed
(scheduler/proto/seal.h), by libsodium. Pure: bytes in, bytes out."""

import functools
import struct
from ctypes import byref, c_ubyte, c_ulonglong, c_void_p, create_string_buffer

from . import frames
from .munge import Refused, loaded

CIPHER = "xchacha20poly1305"     # daemons have a faster one among themselves, which commands do without
KEY_BYTES = 32      # of crypto_kx, of all kinds
OPENING_BYTES = 24
PLAIN_MAX = 64 << 10
_ABYTES = 17
_TAG_LAST = 3
_LENGTH = struct.Struct(">I")


class Broken(frames.Broken):
    """The bytes that came are not those that the other side sent."""


@functools.cache
def _library():
    lib = loaded("libsodium.so.23", "libsodium23")
    if lib.sodium_init() < 0:
        raise Refused("libsodium cannot be used on this host")
    return lib


class Keys:
    """Of our side, for one connection. public: hexadecimal digits."""

    def __init__(self):
        self.lib = _library()
        self._public, self._secret = create_string_buffer(KEY_BYTES), create_string_buffer(KEY_BYTES)
        self.lib.crypto_kx_keypair(self._public, self._secret)
        self.public = self._public.raw.hex()

    def seal(self, theirs, is_listener):
        """With the other side's public key, hexadecimal; Refused."""
        try:
            key = bytes.fromhex(theirs)
        except ValueError:
            key = b""
        pull, push = create_string_buffer(KEY_BYTES), create_string_buffer(KEY_BYTES)
        agree = self.lib.crypto_kx_server_session_keys if is_listener else self.lib.crypto_kx_client_session_keys
        if len(key) != KEY_BYTES or agree(pull, push, self._public, self._secret, key):
            raise Refused("its key to seal the connection is none")
        return Seal(self.lib, push, pull)


class Seal:
    """opening: to be sent before all records."""

    def __init__(self, lib, push_key, pull_key):
        self._lib, self._pull_key = lib, pull_key
        size = lib.crypto_secretstream_xchacha20poly1305_statebytes()
        self._push, self._pull = create_string_buffer(size), None
        opening = create_string_buffer(OPENING_BYTES)
        lib.crypto_secretstream_xchacha20poly1305_init_push(self._push, opening, push_key)
        self.opening = opening.raw
        self.is_ended = False   # the other side's last record has come
        self._size = size
        self._came = bytearray()

    def _record(self, data, tag=0):
        made = create_string_buffer(len(data) + _ABYTES)
        self._lib.crypto_secretstream_xchacha20poly1305_push(
            self._push, made, c_void_p(), bytes(data), c_ulonglong(len(data)), c_void_p(), c_ulonglong(0), c_ubyte(tag))
        return _LENGTH.pack(len(data) + _ABYTES) + made.raw

    def push(self, data):
        """Records with these bytes."""
        if len(data) <= PLAIN_MAX:
            return self._record(data)
        return b"".join(self._record(data[at:at + PLAIN_MAX]) for at in range(0, len(data), PLAIN_MAX))

    def last(self):
        """The record that says that nothing follows."""
        return self._record(b"", _TAG_LAST)

    def _open(self):
        opening = bytes(self._came[:OPENING_BYTES])
        del self._came[:OPENING_BYTES]
        self._pull = create_string_buffer(self._size)
        if self._lib.crypto_secretstream_xchacha20poly1305_init_pull(self._pull, opening, self._pull_key):
            raise Broken("an opening that is none")

    def pull(self, data):
        """The bytes of all records that are whole with these; Broken."""
        self._came += data
        if not self._pull:
            if len(self._came) < OPENING_BYTES:
                return b""
            self._open()
        plain, at = [], 0
        try:
            while len(self._came) - at >= _LENGTH.size:
                length, = _LENGTH.unpack_from(self._came, at)
                if self.is_ended or not _ABYTES <= length <= PLAIN_MAX + _ABYTES:
                    raise Broken("bytes that are no record")
                if len(self._came) - at - _LENGTH.size < length:
                    break
                at += _LENGTH.size
                plain.append(self._taken(bytes(self._came[at:at + length])))
                at += length
        finally:
            del self._came[:at]
        return b"".join(plain)

    def _taken(self, record):
        plain, tag = create_string_buffer(len(record)), c_ubyte()
        if self._lib.crypto_secretstream_xchacha20poly1305_pull(
                self._pull, plain, c_void_p(), byref(tag), record, c_ulonglong(len(record)), c_void_p(),
                c_ulonglong(0)):
            raise Broken("bytes that were altered, repeated or left out on the way")
        self.is_ended = tag.value == _TAG_LAST
        return plain.raw[:len(record) - _ABYTES]
