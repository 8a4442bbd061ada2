# SPDX-License-Identifier: BSD-3-Clause
"""library - C libraries by that part of ctypes that is written in C. The other part makes a class of each type C has
while it loads, and structures of either byte order, which takes longer than munged needs for its answers."""

try:
    from _ctypes import FUNCFLAG_CDECL, RTLD_LOCAL, CFuncPtr, _SimpleCData, byref, dlopen
except ImportError:  # another Python
    from ctypes import CDLL as Library, byref, c_char_p, c_int, c_ubyte, c_uint, c_ulonglong, c_void_p
    from ctypes import create_string_buffer as room, string_at as bytes_at
else:
    class c_char(_SimpleCData):
        """char"""
        _type_ = "c"

    class c_char_p(_SimpleCData):
        """char *, of a text"""
        _type_ = "z"

    class c_int(_SimpleCData):
        """int"""
        _type_ = "i"

    class c_uint(_SimpleCData):
        """unsigned int"""
        _type_ = "I"

    class c_ubyte(_SimpleCData):
        """unsigned char"""
        _type_ = "B"

    class c_ulonglong(_SimpleCData):
        """unsigned long long"""
        _type_ = "Q"

    class c_void_p(_SimpleCData):
        """void *"""
        _type_ = "P"

    class _Function(CFuncPtr):
        _flags_ = FUNCFLAG_CDECL
        _restype_ = c_int

    class Library:
        """Its functions are its attributes, as those of ctypes.CDLL; OSError when it can't be loaded."""

        def __init__(self, name):
            self._handle = dlopen(name, RTLD_LOCAL)

        def __getattr__(self, name):
            function = _Function((name, self))
            setattr(self, name, function)
            return function

    def room(size):
        """So many bytes for a function to write to; they are its raw."""
        return (c_char * size)()

    def bytes_at(place, size):
        """So many bytes that lie at an address."""
        return (c_char * size).from_address(place).raw

__all__ = ["Library", "byref", "bytes_at", "c_char_p", "c_int", "c_ubyte", "c_uint", "c_ulonglong", "c_void_p", "room"]
