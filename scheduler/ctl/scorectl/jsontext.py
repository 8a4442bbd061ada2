# SPDX-License-Identifier: BSD-3-Clause
"""jsontext - JSON as text, made and read by the half of Python's json that is in C. The other half compiles regular
expressions while it loads, which takes longer than all else that a short command loads."""

try:
    from _json import encode_basestring_ascii, make_encoder, make_scanner
except ImportError:  # another Python
    make_encoder = None

_BLANKS = " \t\n\r"


class _Reading:
    """The settings that the scanner otherwise reads from a json.JSONDecoder."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def _strange(value):
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")


if make_encoder:
    _read = make_scanner(_Reading)
    _make = make_encoder(None, _strange, encode_basestring_ascii, None, ":", ",", False, False, True)


def made(value):
    """As json.dumps, without blanks; no value may contain itself."""
    if make_encoder:
        return "".join(_make(value, 0))
    import json
    return json.dumps(value, separators=(",", ":"))


def read(text):
    """As json.loads; ValueError, RecursionError."""
    if make_encoder:
        text = text.strip(_BLANKS)
        try:
            value, end = _read(text, 0)
            if end == len(text):
                return value
        except (StopIteration, SystemError):
            pass  # the scanner of Python 3.11 has no exception of its own where json is not loaded
    # The text is not valid: json raises the error that says why.
    import json
    return json.loads(text)
