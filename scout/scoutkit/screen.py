# SPDX-License-Identifier: BSD-3-Clause
"""screen - what hosts print, made fit for a terminal while it passes: what can be read stays, and so do ends of lines,
tabs and colours. Pure."""

import codecs

from pmharmless import harmless

_KEPT = {ord("\n"): None, ord("\t"): None}
_COLOUR_MAX = 40        # characters of a sequence that sets a colour
_RESET = "\x1b[0m"


def _colour_at(text, at):
    """(length, whether it is whole) of the sequence that sets a colour there; length 0: it is another."""
    if not text.startswith("[", at + 1):
        return 0, at + 1 < len(text)
    end = at + 2
    while end < len(text) and text[end] in "0123456789;:":
        end += 1
    if end - at > _COLOUR_MAX:
        return 0, True
    if end == len(text):
        return 0, False
    return (end + 1 - at if text[end] == "m" else 0), True


class Screen:
    """One output of one host. A part of a character or of a sequence waits for the rest."""

    def __init__(self):
        self._decoder, self._rest = codecs.getincrementaldecoder("utf-8")("replace"), ""
        self._is_coloured = False

    def feed(self, data, is_last=False):
        """The bytes to write for these."""
        text = self._rest + self._decoder.decode(data, is_last)
        self._rest = ""
        if text.translate(_KEPT).isprintable():
            return text.encode()
        return "".join(self._parts(text, is_last)).encode()

    def _parts(self, text, is_last):
        at = 0
        while at < len(text):
            found = min((i for i in (text.find("\x1b", at), text.find("\r", at)) if i >= 0), default=len(text))
            yield harmless(text[at:found], kept="\n\t")
            if found == len(text):
                return
            length, is_whole = _colour_at(text, found) if text[found] == "\x1b" else \
                (text.startswith("\n", found + 1), found + 1 < len(text))
            if not is_whole and not is_last:
                self._rest = text[found:]
                return
            self._is_coloured = self._is_coloured or length > 1
            yield text[found:found + length] if length else "?"
            at = found + (length or 1)

    def end(self):
        """The bytes to write at the end, after which the next output has the terminal's own colours."""
        return self.feed(b"", True) + (_RESET.encode() if self._is_coloured else b"")

    @classmethod
    def shown(cls, line):
        """A whole line."""
        screen = cls()
        return screen.feed(line) + screen.end()
