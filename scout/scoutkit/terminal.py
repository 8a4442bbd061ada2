# SPDX-License-Identifier: BSD-3-Clause
"""terminal - what hosts and other people wrote, made fit for a terminal."""


def harmless(text, kept=""):
    """Only letters that can be printed, and those that are kept."""
    return "".join(letter if letter.isprintable() or letter in kept else "?" for letter in text)
