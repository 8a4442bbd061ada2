# SPDX-License-Identifier: BSD-3-Clause
"""scoutkit - what scout, msgb, msgblock, sceptic and sc_watch are made of."""
