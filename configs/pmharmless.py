# SPDX-License-Identifier: BSD-3-Clause
"""pmharmless - texts of other people, fit for a terminal. The one place in Python that says which characters are not;
pmcore/util/harmless.h says the same for programs in C."""


def harmless(text, kept=""):
    """The text with "?" for each character that commands a terminal, turns a line's direction, or can't be seen."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in kept else "?" for letter in text)
